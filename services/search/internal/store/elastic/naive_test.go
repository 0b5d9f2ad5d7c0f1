package elastic_test

import (
	"encoding/json"
	"strconv"

	"github.com/elastic/go-elasticsearch/v8/esapi"

	engine "github.com/labplatform/labplatform/pkg/elastic"

	"github.com/labplatform/labplatform/pkg/testkit/relevance"
	"github.com/labplatform/labplatform/services/search/internal/search"
)

// multiMatch is a simple search used as a baseline: one fuzzy query over all fields, filtered by laboratory.
func (i *index) multiMatch(labID int64, text string) ([]relevance.Hit, error) {
	fields := []string{"full_name.prefix", "full_name_sounds"}
	for _, f := range search.Fields() {
		fields = append(fields, string(f))
	}
	type object = map[string]any
	body, err := json.Marshal(object{"size": relevance.Depth, "_source": []string{"user_id", "lab_id"}, "query": object{"bool": object{
		"filter": []object{{"term": object{"lab_id": labID}}, {"term": object{"is_deleted": false}}},
		"must":   object{"multi_match": object{"query": text, "fields": fields, "fuzziness": "AUTO", "lenient": true}}}}})
	if err != nil {
		return nil, err
	}
	var answer struct {
		Hits struct {
			Hits []struct {
				Source struct {
					UserID int64 `json:"user_id"`
					LabID  int64 `json:"lab_id"`
				} `json:"_source"`
			}
		}
	}
	err = i.client.Do(i.t.Context(), engine.Call{Name: "search", Body: body,
		Request: esapi.SearchRequest{Index: []string{i.Alias()}, Routing: []string{strconv.FormatInt(labID, 10)}}}, &answer)
	var hits []relevance.Hit
	for _, h := range answer.Hits.Hits {
		hits = append(hits, relevance.Hit{UserID: h.Source.UserID, LabID: h.Source.LabID})
	}
	return hits, err
}
