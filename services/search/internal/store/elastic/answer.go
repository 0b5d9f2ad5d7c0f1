package elastic

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/labplatform/labplatform/pkg/lab/userindex"
	"github.com/labplatform/labplatform/services/search/internal/ranking"
	"github.com/labplatform/labplatform/services/search/internal/search"
)

// answer is what the engine says to a search.
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
		Card [][]byte `json:"card"` // one
	} `json:"fields"`
	Sort []float64 `json:"sort"` // the score, and the patient's number
}

// usualPage is how many hits most answers have room for; a slice that grows is copied.
const usualPage = 10

// read decodes the answer, but for the cards.
func (a *answer) read(body io.Reader) error {
	a.Hits.Hits = make([]hit, 0, usualPage)
	if err := json.UnmarshalRead(body, a); err != nil {
		return fmt.Errorf("decode: %w", err)
	}
	return nil
}

// readInto decodes the hit's card into s, of which nothing is left.
func (h *hit) readInto(s *source) error {
	s.clear()
	if len(h.Fields.Card) == 0 {
		return nil
	}
	if err := json.Unmarshal(h.Fields.Card[0], s); err != nil {
		return fmt.Errorf("decode a card: %w", err)
	}
	return nil
}

var errShard = errors.New("the shard of the laboratory did not answer")

// result reads the answer to the plan that a score tells. Part of an answer is better than none; none at all is an
// error. The cards are decoded one after the other into the same one: their lists need room once.
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
	var card source
	for i := range a.Hits.Hits {
		h := &a.Hits.Hits[i]
		if err := h.readInto(&card); err != nil {
			return search.Result{}, errUnavailable.WithCause(err)
		}
		one := &r.Hits[i]
		one.Person = card.person()
		if len(h.Sort) > 0 { // asked for again, the engine would compute it again
			one.Score = h.Sort[0]
		}
		one.Bucket, one.Matched = of(one.Score).Reason((*userindex.Card)(&card), one.Score)
	}
	return r, nil
}

// source is what an answer holds of a document.
type source userindex.Card

// clear empties s; lists keep their room. Whoever took something of s has copies of the lists.
func (s *source) clear() {
	*s = source{
		OrderNumbers:    s.OrderNumbers[:0],
		BillIDs:         s.BillIDs[:0],
		LabBillIDs:      s.LabBillIDs[:0],
		LabReportIDs:    s.LabReportIDs[:0],
		SampleIDs:       s.SampleIDs[:0],
		ManualSampleIDs: s.ManualSampleIDs[:0],
		LrfIDs:          s.LrfIDs[:0],
	}
}

// person returns what an answer keeps of the card: copies of the ends of its lists.
func (s *source) person() search.Person {
	p := search.Person(*s)
	p.OrderNumbers, p.BillIDs, p.LabBillIDs = newest(s.OrderNumbers), newest(s.BillIDs), newest(s.LabBillIDs)
	p.LabReportIDs, p.LrfIDs = newest(s.LabReportIDs), newest(s.LrfIDs)
	p.SampleIDs, p.ManualSampleIDs = newest(s.SampleIDs), newest(s.ManualSampleIDs)
	return p
}

// maxListed is how many entries of a list an answer keeps: a patient can have thousands.
const maxListed = 20

// newest returns a copy of the end of a list.
func newest[T any](list []T) []T { return slices.Clone(list[max(0, len(list)-maxListed):]) }
