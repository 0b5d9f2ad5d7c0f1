package capture

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/labplatform/labplatform/pkg/testkit/await"
	"github.com/labplatform/labplatform/pkg/testkit/oracletest"
)

// hit is one document of the index with its routing.
type hit struct {
	ID      string         `json:"_id"`
	Routing string         `json:"_routing"`
	Source  map[string]any `json:"_source"`
	Sort    []any          `json:"sort"`
}

// indexNode returns the address of a search node that responds.
func indexNode() (string, error) {
	addresses := strings.Split(platform.Endpoints.Elasticsearch, ",")
	if len(addresses) == 1 {
		return addresses[0], nil
	}
	quick := http.Client{Timeout: time.Second}
	for _, address := range addresses {
		response, err := quick.Get(address)
		if err == nil {
			_ = response.Body.Close()
			return address, nil
		}
	}
	return "", errors.New("no node of the index answers")
}

// indexed returns every document of the index, with any routing. It fails if a shard is missing.
func indexed() ([]hit, error) {
	base, err := indexNode()
	if err != nil {
		return nil, err
	}
	if _, err := fetch(http.MethodPost, base+"/user_details/_refresh", ""); err != nil {
		return nil, err
	}
	var all []hit
	after := ""
	for {
		text, err := fetch(http.MethodPost, base+"/user_details/_search?allow_partial_search_results=false", `{"size":5000,"sort":[{"user_id.number":"asc"},{"lab_id":"asc"}],"query":{"match_all":{}}`+after+`}`)
		if err != nil {
			return nil, err
		}
		var answer struct {
			Hits struct {
				Hits []hit `json:"hits"`
			} `json:"hits"`
		}
		if err := json.Unmarshal(text, &answer); err != nil {
			return nil, err
		}
		all = append(all, answer.Hits.Hits...)
		if len(answer.Hits.Hits) < 5000 {
			return all, nil
		}
		last, err := json.Marshal(all[len(all)-1].Sort)
		if err != nil {
			return nil, err
		}
		after = `,"search_after":` + string(last)
	}
}

// differences compares the index with the source tables. The texts contain ids of patients only.
func differences(ctx context.Context, db *sql.DB) ([]string, error) {
	want, err := oracletest.Expected(ctx, db)
	if err != nil {
		return nil, err
	}
	hits, err := indexed()
	if err != nil {
		return nil, err
	}
	var found []string
	for _, h := range hits {
		lab := int64(h.Source["lab_id"].(float64))
		id := int64(h.Source["user_id"].(float64))
		if h.Routing != fmt.Sprint(lab) || h.ID != fmt.Sprint(id) {
			found = append(found, fmt.Sprintf("document %s on route %s says patient %d of laboratory %d", h.ID, h.Routing, id, lab))
		}
		if h.Source["is_deleted"] == true {
			continue
		}
		expected, ok := want[lab][id]
		if !ok {
			found = append(found, fmt.Sprintf("laboratory %d still sees patient %d", lab, id))
			continue
		}
		delete(want[lab], id)
		if diff := cmp.Diff(expected, plain(h.Source)); diff != "" {
			found = append(found, fmt.Sprintf("patient %d of laboratory %d: %s", id, lab, diff))
		}
	}
	for lab, patients := range want {
		for id := range patients {
			found = append(found, fmt.Sprintf("laboratory %d misses patient %d", lab, id))
		}
	}
	slices.Sort(found)
	return found, nil
}

// plain converts a document to the form of oracletest.
func plain(source map[string]any) oracletest.Document {
	d := oracletest.Document{}
	for field, value := range source {
		if oracletest.Derived(field) {
			continue
		}
		if list, ok := value.([]any); ok {
			var texts []string
			for _, v := range list {
				if n, isNumber := v.(float64); isNumber {
					v = fmt.Sprintf("%.0f", n)
				}
				texts = append(texts, fmt.Sprint(v))
			}
			slices.Sort(texts)
			value = texts
		}
		d[field] = value
	}
	return d
}

// converge waits until the index equals the tables. It fails with the first remaining differences.
func converge(t *testing.T, db *sql.DB) {
	t.Helper()
	begin := time.Now()
	await.Nil(t, "the index being equal to the tables", func() error {
		found, err := differences(t.Context(), db)
		if err != nil {
			return err
		}
		if len(found) > 0 {
			return fmt.Errorf("%d differences, first: %s", len(found), strings.Join(found[:min(3, len(found))], "\n"))
		}
		return nil
	})
	t.Logf("equal %.1f s after the last write", time.Since(begin).Seconds())
}
