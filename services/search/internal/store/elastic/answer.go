package elastic

import (
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/labplatform/labplatform/services/search/internal/ranking"
	"github.com/labplatform/labplatform/services/search/internal/search"
)

// answer is the engine's response to a search.
type answer struct {
	Took     int64 `json:"took"` // milliseconds
	TimedOut bool  `json:"timed_out"`
	Shards   struct {
		Failed int `json:"failed"`
	} `json:"_shards"`
	Hits struct {
		Total struct {
			Value    int64  `json:"value"`
			Relation string `json:"relation"`
		} `json:"total"`
		Hits []hit `json:"hits"`
	} `json:"hits"`
	Aggregations struct {
		Buckets struct {
			Buckets map[search.Bucket]struct {
				Count int64 `json:"doc_count"`
			} `json:"buckets"`
		} `json:"buckets"`
	} `json:"aggregations"`
}

type hit struct {
	Fields struct {
		Card [][]byte `json:"card"` // one element
	} `json:"fields"`
	Sort []float64 `json:"sort"` // score and patient id
}

// usualPage is the initial capacity for hits. It suffices for most pages, so that the slice is rarely reallocated.
const usualPage = 10

// read decodes the response. The cards stay encoded.
func (a *answer) read(body io.Reader) error {
	a.Hits.Hits = make([]hit, 0, usualPage)
	if err := json.UnmarshalRead(body, a); err != nil {
		return fmt.Errorf("decode: %w", err)
	}
	return nil
}

// card decodes the hit's card into p. A hit without a card leaves p unchanged.
func (h *hit) card(p *search.Person) error {
	if len(h.Fields.Card) == 0 {
		return nil
	}
	if err := json.Unmarshal(h.Fields.Card[0], p); err != nil {
		return fmt.Errorf("decode a card: %w", err)
	}
	return nil
}

var errShard = errors.New("the shard of the laboratory did not answer")

// result converts the response. of returns the plan that found a hit with the given score. A partial response with hits
// is returned; one without hits is an error.
func (a *answer) result(of func(score float64) *ranking.Plan) (search.Result, error) {
	r := search.Result{
		Total:   a.Hits.Total.Value,
		AtLeast: a.Hits.Total.Relation == "gte",
		Partial: a.TimedOut || a.Shards.Failed > 0,
		Took:    time.Duration(a.Took) * time.Millisecond,
	}
	if r.Partial && len(a.Hits.Hits) == 0 {
		if a.TimedOut {
			return search.Result{}, errTimeout
		}
		return search.Result{}, errUnavailable.WithCause(errShard)
	}
	r.Hits = make([]search.Hit, len(a.Hits.Hits))
	for i := range a.Hits.Hits {
		h, one := &a.Hits.Hits[i], &r.Hits[i]
		if err := h.card(&one.Person); err != nil {
			return search.Result{}, errUnavailable.WithCause(err)
		}
		if len(h.Sort) > 0 { // from the sort values, because the engine would compute a separately requested score twice
			one.Score = h.Sort[0]
		}
		plan := of(one.Score)
		one.Bucket, one.Matched = plan.Reason(&one.Person, one.Score)
		one.Match = plan.Match(&one.Person, one.Score)
	}
	return r, nil
}
