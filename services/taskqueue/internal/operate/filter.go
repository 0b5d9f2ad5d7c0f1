package operate

import (
	"fmt"
	"slices"
	"strings"

	"github.com/labplatform/labplatform/pkg/apperr"
	"github.com/labplatform/labplatform/services/taskqueue/internal/api"
	"github.com/labplatform/labplatform/services/taskqueue/internal/job"
)

// Filter selects jobs that wait, run or are kept dead. Empty fields select all.
type Filter struct {
	LabID           int64
	Channels        []job.Channel
	States          []job.State
	Reason          string // the word of the last failure, or its beginning
	CreatedBeforeMs int64
}

// Searchable lists the states whose jobs can be found without an id. What finished is kept for /jobInfo/ alone.
func Searchable() []job.State {
	return []job.State{job.Scheduled, job.Queued, job.Retrying, job.Started, job.Failed, job.Unknown}
}

// ParseFilter reads the words of a request; channel, states (with commas) and reason may be empty.
func ParseFilter(lab int64, channel, states, reason string, createdBeforeMs int64) (Filter, error) {
	f := Filter{LabID: lab, Reason: strings.TrimSpace(reason), CreatedBeforeMs: createdBeforeMs}
	var wrong []apperr.Field
	if lab < 0 {
		wrong = append(wrong, apperr.Field{Name: "lab_id", Message: "the laboratory must be a number above 0, or empty for all"})
	}
	if createdBeforeMs < 0 {
		wrong = append(wrong, apperr.Field{Name: "created_before_ms", Message: "the time must be milliseconds since 1970"})
	}
	if channel != "" {
		at := slices.IndexFunc(job.Channels(), func(c job.Channel) bool { return c.String() == channel })
		if at < 0 {
			wrong = append(wrong, apperr.Field{Name: "channel", Message: fmt.Sprintf("there is no channel %q", channel)})
		} else {
			f.Channels = job.Channels()[at : at+1]
		}
	}
	for word := range strings.SplitSeq(states, ",") {
		if word == "" {
			continue
		}
		at := slices.IndexFunc(Searchable(), func(s job.State) bool { return s.String() == word })
		if at < 0 {
			message := fmt.Sprintf("jobs of state %q are found by their id only", word)
			wrong = append(wrong, apperr.Field{Name: "states", Message: message})
			continue
		}
		f.States = append(f.States, Searchable()[at])
	}
	if len(wrong) > 0 {
		return Filter{}, apperr.InvalidFields(wrong...)
	}
	return f, nil
}

// Selects reports whether the filter wants a job.
func (f Filter) Selects(v *api.Job) bool {
	r := &v.Record
	switch {
	case f.LabID != 0 && r.LabID != f.LabID:
	case len(f.Channels) > 0 && !slices.Contains(f.Channels, v.ID.Lane().Channel):
	case !f.wants(r.State):
	case !strings.HasPrefix(r.Reason, f.Reason):
	case f.CreatedBeforeMs > 0 && v.ID.CreatedMs() >= f.CreatedBeforeMs:
	default:
		return true
	}
	return false
}

func (f Filter) wants(s job.State) bool {
	return slices.Contains(Searchable(), s) && (len(f.States) == 0 || slices.Contains(f.States, s))
}

func (f Filter) wantsAny(list ...job.State) bool { return slices.ContainsFunc(list, f.wants) }

func (f Filter) channels() []job.Channel {
	if len(f.Channels) > 0 {
		return f.Channels
	}
	return job.Channels()
}
