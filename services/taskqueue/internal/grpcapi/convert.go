package grpcapi

import (
	"encoding/json"
	"time"

	"github.com/labplatform/labplatform/pkg/apperr"
	"github.com/labplatform/labplatform/pkg/distinct"
	taskqueuev1 "github.com/labplatform/labplatform/proto/gen/lab/taskqueue/v1"
	typev1 "github.com/labplatform/labplatform/proto/gen/lab/type/v1"
	"github.com/labplatform/labplatform/services/taskqueue/internal/job"
	"github.com/labplatform/labplatform/services/taskqueue/internal/manage"
	"github.com/labplatform/labplatform/services/taskqueue/internal/task"
)

// jobIDs decodes a field, or its alias, with one id or a list of ids. list reports whether it is a list.
func jobIDs(field string, value, alias *typev1.RawJSON) (ids []string, list bool, err error) {
	raw := value.GetJson()
	if len(raw) == 0 {
		raw = alias.GetJson()
	}
	var one string
	switch {
	case len(raw) == 0:
		return nil, false, apperr.InvalidField(field, field+" is missing")
	case json.Unmarshal(raw, &one) == nil:
		return []string{one}, false, nil
	case json.Unmarshal(raw, &ids) == nil:
		return ids, true, nil
	}
	return nil, false, apperr.InvalidField(field, field+" must be a job id or a list of job ids")
}

func distinctIDs(ids []string) []string {
	if len(ids) > manage.MaxIDs {
		return ids // rejected later because there are too many
	}
	return distinct.Of(ids)
}

func jobOf(v *manage.Job) *taskqueuev1.Job {
	r := &v.Record
	created := clockText(r.CreatedMs)
	return &taskqueuev1.Job{
		Id:             string(v.ID),
		JobId:          string(v.ID),
		Task:           int32(r.Task),
		TaskType:       int32(r.TaskType),
		Priority:       int32(v.ID.Lane().Priority),
		Status:         r.State.String(),
		LogTag:         optional(r.LogTag),
		Retry:          int32(r.Retry),
		Attempts:       int32(r.Attempts),
		CreatedAt:      created,
		EnqueuedAt:     created,
		ScheduledAt:    optional(clockText(r.ScheduledMs)),
		StartedAt:      optional(clockText(r.StartedMs)),
		EndedAt:        optional(clockText(r.EndedMs)),
		Error:          optional(r.Error),
		Reason:         optional(r.Reason),
		WindowKey:      optional(r.WindowKey),
		AttemptsDetail: attempts(r),
		Result:         result(r),

		CreatedAtUtc: inUTC(created), EnqueuedAtUtc: inUTC(created),
		ScheduledAtUtc: optional(inUTC(clockText(r.ScheduledMs))),
		StartedAtUtc:   optional(inUTC(clockText(r.StartedMs))),
		EndedAtUtc:     optional(inUTC(clockText(r.EndedMs))),
	}
}

// inUTC appends Z to a time of the API; an empty text stays empty.
func inUTC(text string) string {
	if text == "" {
		return ""
	}
	return text + "Z"
}

func attempt(number int, endedMs int64, outcome string) *taskqueuev1.Attempt {
	ended := clockText(endedMs)
	return &taskqueuev1.Attempt{Number: int32(number), EndedAt: ended, EndedAtUtc: inUTC(ended), Outcome: outcome}
}

func optional(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

func clockText(ms int64) string {
	if ms == 0 {
		return ""
	}
	return time.UnixMilli(ms).UTC().Format(task.TimeLayout)
}

// attempts returns the past executions. The successful one is not in the history: it is the record itself.
func attempts(r *job.Record) []*taskqueuev1.Attempt {
	var list []*taskqueuev1.Attempt
	first := r.Attempts - len(r.History)
	if r.State == job.Finished {
		first--
	}
	for i, a := range r.History {
		one := attempt(first+i+1, a.EndedMs, "retry")
		one.Error, one.Reason = optional(a.Error), optional(a.Reason)
		list = append(list, one)
	}
	switch {
	case r.State == job.Finished:
		list = append(list, attempt(r.Attempts, r.EndedMs, "succeeded"))
	case r.State == job.Failed && len(list) > 0:
		list[len(list)-1].Outcome = "failed"
	case r.State == job.Unknown && len(list) > 0:
		list[len(list)-1].Outcome = "unknown"
	}
	return list
}

// result returns the receiver's response, or null if there is none.
func result(r *job.Record) *typev1.RawJSON {
	if r.HTTPStatus == 0 && r.MessageID == "" {
		return nil
	}
	raw, err := json.Marshal(struct {
		HTTPStatus int    `json:"http_status,omitempty"`
		MessageID  string `json:"message_id,omitempty"`
		Excerpt    string `json:"excerpt,omitempty"`
	}{r.HTTPStatus, r.MessageID, r.Excerpt})
	if err != nil {
		return nil
	}
	return &typev1.RawJSON{Json: raw}
}
