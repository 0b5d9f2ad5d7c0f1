package elastic

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"strconv"

	"github.com/elastic/go-elasticsearch/v8/esapi"

	"github.com/labplatform/labplatform/pkg/elastic"
	"github.com/labplatform/labplatform/services/cdc/internal/document"
)

const (
	scanPage      = 500
	scanKeepAlive = "2m"
)

// hit is a document in the response of a search or multi-get.
type hit struct {
	ID      string          `json:"_id"`
	Routing string          `json:"_routing"`
	Version int64           `json:"_version"`
	Found   bool            `json:"found"`
	Source  json.RawMessage `json:"_source"`
	Sort    json.RawMessage `json:"sort"`
}

func (h *hit) entry() (document.Entry, error) {
	var body struct {
		LabID   int64 `json:"lab_id"`
		Deleted bool  `json:"is_deleted"`
	}
	if err := json.Unmarshal(h.Source, &body); err != nil {
		return document.Entry{}, fmt.Errorf("read a document: %w", err)
	}
	id, err := strconv.ParseInt(h.ID, 10, 64)
	if err != nil {
		return document.Entry{}, fmt.Errorf("the index holds a document whose id is no patient's: %w", err)
	}
	route, err := strconv.ParseInt(h.Routing, 10, 64)
	if err != nil {
		return document.Entry{}, fmt.Errorf("the index holds a document whose route is no laboratory: %w", err)
	}
	return document.Entry{
		UserID: id, Route: route, LabID: body.LabID, Version: h.Version, Deleted: body.Deleted, Source: h.Source,
	}, nil
}

// Scan yields all documents of the laboratory in target, an alias or an index, on any route, ordered by patient id, as
// of the last refresh before the scan. It stops at the first error.
func (s *Store) Scan(ctx context.Context, target string, lab int64) iter.Seq2[document.Entry, error] {
	return s.scan(ctx, target, object{"term": object{"lab_id": lab}})
}

// Stubs yields the stubs of target whose rev is less than below, ordered by patient id.
func (s *Store) Stubs(ctx context.Context, target string, below int64) iter.Seq2[document.Entry, error] {
	return s.scan(ctx, target, object{"bool": object{"filter": []any{
		object{"term": object{"is_deleted": true}},
		object{"range": object{"rev": object{"lt": below}}}}}})
}

func (s *Store) scan(ctx context.Context, target string, query any) iter.Seq2[document.Entry, error] {
	return func(yield func(document.Entry, error) bool) {
		pit, err := s.openPIT(ctx, target)
		if err != nil {
			yield(document.Entry{}, err)
			return
		}
		defer func() { s.closePIT(context.WithoutCancel(ctx), pit) }()
		search := object{"size": scanPage, "query": query, "version": true, "track_total_hits": false,
			"sort": []any{object{"user_id.number": "asc"}}}
		for {
			search["pit"] = object{"id": pit, "keep_alive": scanKeepAlive}
			page, next, err := s.page(ctx, search)
			if err != nil {
				yield(document.Entry{}, err)
				return
			}
			for i := range page {
				entry, err := page[i].entry()
				if !yield(entry, err) || err != nil {
					return
				}
			}
			if len(page) < scanPage {
				return
			}
			pit, search["search_after"] = next, page[len(page)-1].Sort
		}
	}
}

func (s *Store) page(ctx context.Context, search any) ([]hit, string, error) {
	var answer struct {
		PIT      string `json:"pit_id"`
		TimedOut bool   `json:"timed_out"`
		Shards   struct {
			Failed int `json:"failed"`
		} `json:"_shards"`
		Hits struct {
			Hits []hit `json:"hits"`
		} `json:"hits"`
	}
	call := elastic.Call{Name: "scan", Request: esapi.SearchRequest{AllowPartialSearchResults: new(false)}, Repeat: true}
	if err := s.ask(ctx, "scan", call, search, &answer); err != nil {
		return nil, "", err
	}
	if answer.TimedOut || answer.Shards.Failed > 0 {
		return nil, "", fault("scan", fmt.Errorf("%d shards did not answer", answer.Shards.Failed))
	}
	return answer.Hits.Hits, answer.PIT, nil
}

func (s *Store) openPIT(ctx context.Context, target string) (string, error) {
	var answer struct{ ID string }
	call := elastic.Call{Name: "open_point_in_time", Repeat: true,
		Request: esapi.OpenPointInTimeRequest{Index: []string{target}, KeepAlive: scanKeepAlive}}
	err := s.ask(ctx, "begin a scan", call, nil, &answer)
	return answer.ID, err
}

// closePIT frees the server's resources of a scan. Errors are ignored, because the server frees them after two minutes
// anyway.
func (s *Store) closePIT(ctx context.Context, pit string) {
	call := elastic.Call{Name: "close_point_in_time", Request: esapi.ClosePointInTimeRequest{}}
	_ = s.ask(ctx, "end a scan", call, object{"id": pit}, nil)
}

// Find returns the current documents of target for the UserID and Route of each entry in asked, refreshed or not.
// Missing documents are left out. If two routes share a shard, the same document may be returned for both.
func (s *Store) Find(ctx context.Context, target string, asked []document.Entry) ([]document.Entry, error) {
	if len(asked) == 0 {
		return nil, nil
	}
	type doc struct {
		ID      string `json:"_id"`
		Routing string `json:"routing"`
	}
	docs := make([]doc, len(asked))
	for i, a := range asked {
		docs[i] = doc{strconv.FormatInt(a.UserID, 10), strconv.FormatInt(a.Route, 10)}
	}
	var answer struct {
		Docs []struct {
			hit
			Error json.RawMessage `json:"error"`
		} `json:"docs"`
	}
	call := elastic.Call{Name: "mget", Request: esapi.MgetRequest{Index: target}, Repeat: true}
	if err := s.ask(ctx, "read documents", call, object{"docs": docs}, &answer); err != nil {
		return nil, err
	}
	var found []document.Entry
	for i := range answer.Docs {
		d := &answer.Docs[i]
		if d.Error != nil {
			return nil, fault("read documents", fmt.Errorf("document %d of %d cannot be read", i+1, len(asked)))
		}
		if !d.Found {
			continue
		}
		entry, err := d.entry()
		if err != nil {
			return nil, err
		}
		found = append(found, entry)
	}
	return found, nil
}

// Laboratories returns the laboratories in the documents of target, in ascending order.
func (s *Store) Laboratories(ctx context.Context, target string) ([]int64, error) {
	var labs []int64
	source := object{"size": 1000, "sources": []any{object{"lab": object{"terms": object{"field": "lab_id"}}}}}
	body := object{"size": 0, "track_total_hits": false, "aggs": object{"labs": object{"composite": source}}}
	call := elastic.Call{Name: "scan", Request: esapi.SearchRequest{Index: []string{target}, AllowPartialSearchResults: new(false)}, Repeat: true}
	for {
		var answer struct {
			TimedOut bool `json:"timed_out"`
			Shards   struct {
				Failed int `json:"failed"`
			} `json:"_shards"`
			Aggregations struct {
				Labs struct {
					After   map[string]int64 `json:"after_key"`
					Buckets []struct {
						Key struct{ Lab int64 }
					}
				}
			}
		}
		if err := s.ask(ctx, "read laboratories", call, body, &answer); err != nil {
			return nil, err
		}
		if answer.TimedOut || answer.Shards.Failed > 0 {
			return nil, fault("read laboratories", fmt.Errorf("%d shards did not answer", answer.Shards.Failed))
		}
		page := answer.Aggregations.Labs
		for _, b := range page.Buckets {
			labs = append(labs, b.Key.Lab)
		}
		if page.After == nil || len(page.Buckets) == 0 {
			return labs, nil
		}
		source["after"] = page.After
	}
}
