package submit

import (
	"encoding/json"

	"github.com/labplatform/labplatform/services/taskqueue/internal/job"
	"github.com/labplatform/labplatform/services/taskqueue/internal/task"
)

const maxKeyword = 190

// planMappings returns the plans of a request's mappings, or an error with all invalid fields.
func (v *Checks) planMappings(caller task.Caller, list []task.Mapping) ([]Planned, error) {
	if err := tooMany("mappings", len(list)); err != nil {
		return nil, err
	}
	c := &checker{Checks: v, caller: caller}
	c.wrong.If(!v.Serves(job.Mapping, 0), "mappings", "dictionary mappings are not served here")
	planned := make([]Planned, len(list))
	times := map[string]int64{}
	for i, m := range list {
		c.wrong.Index, m.Position = i, times[m.Keyword]
		c.mapping(m)
		times[m.Keyword]++
		data, err := json.Marshal(m)
		c.wrong.If(err != nil, "data", "data cannot be stored")
		planned[i] = Planned{Lane: job.Lane{Channel: job.Mapping, Priority: job.Moderate},
			Body: job.Body{LabID: caller.LabID, Caller: caller.Name, Internal: caller.Internal, Data: data,
				Retry: job.DefaultRetry, Flow: job.LabFlow(caller.LabID)}}
	}
	return planned, c.wrong.Err()
}

func (c *checker) mapping(m task.Mapping) {
	c.wrong.If(m.Keyword == "", "keyword", "keyword is missing")
	c.wrong.If(len(m.Keyword) > maxKeyword, "keyword", "keyword is longer than %d bytes", maxKeyword)
	switch {
	case len(m.Data) == 0:
		c.wrong.If(true, "data", "data is missing")
	case len(m.Data) > maxTaskBytes:
		c.wrong.If(true, "data", "data is larger than %d KiB", maxTaskBytes>>10)
	default:
		c.wrong.If(!task.IsObject(m.Data), "data", "data must be an object")
	}
}
