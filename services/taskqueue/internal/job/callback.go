package job

import (
	"bytes"
	"encoding/json"
	"slices"
	"time"
)

// Payload is the documented body of every result callback; the order of its members is part of the contract.
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

// PayloadResult is what the attempt learned.
type PayloadResult struct {
	HTTPStatus int    `json:"http_status,omitempty"`
	MessageID  string `json:"message_id,omitempty"`
}

// CallbackURLs lists who is told that the job ended in state: subscribers of every result, the handler of
// that result, and the callback_url of the task's data. A callback has none: it is never recursive.
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

// DataCallback is the callback_url of a task's data: a webhook needs "callback": 1 beside it.
func DataCallback(c Channel, data []byte) string {
	var d struct {
		Callback    json.RawMessage `json:"callback"`
		CallbackURL string          `json:"callback_url"`
	}
	if !bytes.Contains(data, []byte("callback_url")) { // most have none, and are spared the parse
		return ""
	}
	if json.Unmarshal(data, &d) != nil || (c == Webhook && !Flag(d.Callback)) {
		return ""
	}
	return d.CallbackURL
}

// Flag reads a flag in any of its accepted spellings; everything else is false.
func Flag(raw json.RawMessage) bool {
	switch string(raw) {
	case "1", "true", `"1"`, `"true"`, `"True"`:
		return true
	}
	return false
}

// CallbackBody makes the body of one callback job: it tells url how the job id ended.
func CallbackBody(id ID, b *Body, r *Record, url string) *Body {
	payload, _ := json.Marshal(payloadOf(id, r)) // texts and numbers, which never fails
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
