package cdc

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"

	"github.com/labplatform/labplatform/pkg/testkit/oracletest"
)

const alias = "/user_details"

// index is the search index over plain HTTP.
type index struct {
	base   string
	client *http.Client
}

// do sends one request and decodes the answer into out when that is not nil.
func (x *index) do(ctx context.Context, method, path string, body []byte, out any) error {
	request, err := http.NewRequestWithContext(ctx, method, x.base+path, bytes.NewReader(body))
	if err != nil {
		return err
	}
	request.Header.Set("Content-Type", "application/json")
	response, err := x.client.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		return err
	}
	if response.StatusCode >= http.StatusMultipleChoices {
		return fmt.Errorf("%s %s: %s: %.300s", method, path, response.Status, text)
	}
	if out == nil {
		return nil
	}
	return json.Unmarshal(text, out)
}

// count returns the number of patients that searches can find.
func (x *index) count(ctx context.Context) (int, error) {
	var answer struct{ Count int }
	err := x.do(ctx, http.MethodPost, alias+"/_count", []byte(`{"query":{"term":{"is_deleted":false}}}`), &answer)
	return answer.Count, err
}

// drop deletes the index behind the alias; a missing one is ignored.
func (x *index) drop(ctx context.Context) error {
	var found map[string]any
	if err := x.do(ctx, http.MethodGet, alias+"*", nil, &found); err != nil {
		return err
	}
	for name := range found {
		if err := x.do(ctx, http.MethodDelete, "/"+name, nil, nil); err != nil {
			return err
		}
	}
	return nil
}

type hits struct {
	Hits struct {
		Hits []struct {
			Source map[string]any `json:"_source"`
			Sort   []any          `json:"sort"`
		} `json:"hits"`
	} `json:"hits"`
}

func (x *index) documents(ctx context.Context) (oracletest.Documents, error) {
	const page = 5000
	if err := x.do(ctx, http.MethodPost, alias+"/_refresh", nil, nil); err != nil {
		return nil, err
	}
	all, after := oracletest.Documents{}, ""
	for {
		var answer hits
		body := fmt.Sprintf(`{"size":%d,"sort":[{"user_id.number":"asc"}],"query":{"match_all":{}}%s}`, page, after)
		if err := x.do(ctx, http.MethodPost, alias+"/_search", []byte(body), &answer); err != nil {
			return nil, err
		}
		for _, hit := range answer.Hits.Hits {
			lab, id := int64(hit.Source["lab_id"].(float64)), int64(hit.Source["user_id"].(float64))
			if all[lab] == nil {
				all[lab] = map[int64]oracletest.Document{}
			}
			all[lab][id] = oracletest.Normal(hit.Source)
		}
		if len(answer.Hits.Hits) < page {
			return all, nil
		}
		last, err := json.Marshal(answer.Hits.Hits[page-1].Sort)
		if err != nil {
			return nil, err
		}
		after = `,"search_after":` + string(last)
	}
}
