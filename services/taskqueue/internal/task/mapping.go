package task

import (
	"encoding/json"
	"fmt"

	"github.com/labplatform/labplatform/pkg/apperr"
	"github.com/labplatform/labplatform/services/taskqueue/internal/job"
)

const maxKeyword = 190

// Mapping is the payload of a dictionary mapping, a task of its own kind: number 0, which /queue/ does not take.
type Mapping struct {
	Keyword string          `json:"keyword"`
	Data    json.RawMessage `json:"data"`
	// Position is among the mappings of the same keyword in one request: the last one wins.
	Position int64 `json:"position,omitempty"`
}

// CheckMappings returns the plan of a request's mappings, or its wrong fields.
func (v *Validator) CheckMappings(list []Mapping, caller Caller) ([]Planned, []apperr.Field) {
	c := &checker{v: v, caller: caller}
	if !v.Serves(job.Mapping) {
		c.wrong("mappings", "dictionary mappings are not served here")
	}
	planned := make([]Planned, len(list))
	times := map[string]int64{}
	for i, m := range list {
		c.index = i
		c.mapping(m)
		m.Position = times[m.Keyword]
		times[m.Keyword]++
		data, err := json.Marshal(m)
		if err != nil {
			c.wrong("data", "data cannot be stored")
		}
		planned[i] = Planned{Lane: job.Lane{Channel: job.Mapping, Priority: job.Moderate},
			Body: job.Body{LabID: caller.LabID, Caller: caller.Name, Internal: caller.Internal, Data: data,
				Retry: job.DefaultRetry, Flow: job.LabFlow(caller.LabID)}}
	}
	return planned, c.fields
}

func (c *checker) mapping(m Mapping) {
	switch {
	case m.Keyword == "":
		c.wrong("keyword", "keyword is missing")
	case len(m.Keyword) > maxKeyword:
		c.wrong("keyword", "keyword is longer than %d bytes", maxKeyword)
	}
	switch {
	case len(m.Data) == 0:
		c.wrong("data", "data is missing")
	case len(m.Data) > MaxTaskBytes:
		c.wrong("data", "data is larger than %d KiB", MaxTaskBytes>>10)
	case !isObject(m.Data):
		c.wrong("data", "data must be an object")
	}
}

// TooMany says that a request holds none or too many elements; nil when it does not.
func TooMany(field string, n int) error {
	switch {
	case n == 0:
		return apperr.InvalidField(field, "the request holds no "+field[:len(field)-1])
	case n > MaxBatch:
		return apperr.InvalidField(field, fmt.Sprintf("a request holds at most %d %s", MaxBatch, field))
	}
	return nil
}
