package search

import (
	"context"
	"encoding/json"
	"strconv"
	"time"

	"github.com/elastic/go-elasticsearch/v8/esapi"

	"github.com/labplatform/labplatform/pkg/elastic"
	"github.com/labplatform/labplatform/pkg/lab/userindex"
	"github.com/labplatform/labplatform/services/search/inprocess"
)

const (
	peerName  = "fuzzy_multi_match"
	plainName = "plain_multi_match"
	limit     = 5 * time.Second // the deadline of the service's own searches
)

type object = map[string]any

// multiMatch returns the plain search: one multi_match of the text over every field, with the given fuzziness, within
// the laboratory.
func multiMatch(client *elastic.Client, fuzziness string) finder {
	fields := append(inprocess.Fields(), "full_name.prefix")
	return func(ctx context.Context, labID int64, text string) ([]inprocess.Hit, error) {
		ctx, cancel := context.WithTimeout(ctx, limit)
		defer cancel()
		body, err := json.Marshal(
			object{"size": pageSize, "track_total_hits": 10_000, "_source": userindex.CardFields, "query": object{"bool": object{
				"filter": []object{{"term": object{"lab_id": labID}}, {"term": object{"is_deleted": false}}},
				"must": object{
					"multi_match": object{"query": text, "fields": fields, "fuzziness": fuzziness, "lenient": true}}}}},
		)
		if err != nil {
			return nil, err
		}
		var answer struct {
			Hits struct {
				Hits []struct {
					Score  float64        `json:"_score"`
					Source userindex.Card `json:"_source"`
				} `json:"hits"`
			} `json:"hits"`
		}
		err = client.Do(
			ctx,
			elastic.Call{Name: "search", Body: body, Repeat: true,
				Request: esapi.SearchRequest{Index: []string{"user_details"}, Routing: []string{strconv.FormatInt(labID, 10)}}},
			&answer,
		)
		var hits []inprocess.Hit
		for _, h := range answer.Hits.Hits {
			hits = append(hits, inprocess.Hit{UserID: h.Source.UserID, LabID: h.Source.LabID})
		}
		return hits, err
	}
}
