package job

import (
	"bytes"
	"encoding/json"
	"slices"
	"time"
)

// Payload is the documented body of every result callback. The order of its members is part of the contract.
type Payload struct {
	JobID      ID             `json:"job_id"`
	Task       int            `json:"task"`
	TaskType   int            `json:"task_type"`
	Status     string         `json:"status"`
	Attempts   int            `json:"attempts"`
	LogTag     *string        `json:"log_tag"`
	Result     *PayloadResult `json:"result"`
	Error      *string        `json:"error"`
	FinishedAt string         `json:"finished_at"`
}

// PayloadResult is the result of the last attempt.
type PayloadResult struct {
	HTTPStatus int    `json:"http_status,omitempty"`
	MessageID  string `json:"message_id,omitempty"`
}

// CallbackURLs returns the receivers of the callbacks of a job that ended in state: the subscribers of all results, the
// handler for this result, and the callback_url in the task's data. A callback job has none, so callbacks never cause
// callbacks.
func CallbackURLs(lane Lane, b *Body, state State) []string {
	if lane.Channel == Callback || !state.Terminal() {
		return nil
	}
	var urls []string
	urls = appendURL(urls, b.Subscribe)
	switch state {
	case Finished:
		urls = appendURL(urls, b.OnSuccess)
	case Failed, Unknown:
		urls = appendURL(urls, b.OnFailure)
	}
	urls = appendURL(urls, b.CallbackTo)
	return appendURL(urls, DataCallback(lane.Channel, b.Data))
}

func appendURL(urls []string, url string) []string {
	if url == "" || slices.Contains(urls, url) {
		return urls
	}
	return append(urls, url)
}

// DataCallback returns the callback_url in a task's data. For a webhook, it is used only with "callback": 1.
func DataCallback(c Channel, data []byte) string {
	var d struct {
		Callback    json.RawMessage `json:"callback"`
		CallbackURL string          `json:"callback_url"`
	}
	if !bytes.Contains(data, []byte("callback_url")) { // skip parsing for most tasks, which have none
		return ""
	}
	if json.Unmarshal(data, &d) != nil || (c == Webhook && !Flag(d.Callback)) {
		return ""
	}
	return d.CallbackURL
}

// Flag reports whether a flag is set in any of its accepted forms. Any other value is false.
func Flag(raw json.RawMessage) bool {
	switch string(raw) {
	case "1", "true", `"1"`, `"true"`, `"True"`:
		return true
	}
	return false
}

// CallbackBody returns the body of a callback job that reports to url how job id ended.
func CallbackBody(id ID, b *Body, r *Record, url string) *Body {
	payload, _ := json.Marshal(payloadOf(id, r)) // cannot fail for texts and numbers
	flow := LabFlow(b.LabID)
	if b.Flow == FlowPlatform {
		flow = FlowPlatform
	}
	return &Body{
		Flow:        flow,
		Task:        b.Task,
		TaskType:    b.TaskType,
		LabID:       b.LabID,
		Caller:      b.Caller,
		Internal:    b.Internal,
		Data:        payload,
		LogTag:      b.LogTag,
		Retry:       CallbackRetry,
		CreatedMs:   r.EndedMs,
		Traceparent: b.Traceparent,
		RequestID:   b.RequestID,
		Target:      url,
		Parent:      id,
	}
}

func payloadOf(id ID, r *Record) Payload {
	p := Payload{JobID: id, Task: r.Task, TaskType: r.TaskType, Status: r.State.String(), Attempts: r.Attempts,
		FinishedAt: time.UnixMilli(r.EndedMs).UTC().Format("2006-01-02T15:04:05Z")}
	if r.LogTag != "" {
		p.LogTag = &r.LogTag
	}
	if r.HTTPStatus != 0 || r.MessageID != "" {
		p.Result = &PayloadResult{HTTPStatus: r.HTTPStatus, MessageID: r.MessageID}
	}
	if r.Error != "" {
		p.Error = &r.Error
	}
	return p
}
