package webhook

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/labplatform/labplatform/pkg/netguard"
	"github.com/labplatform/labplatform/services/taskqueue/internal/job"
	"github.com/labplatform/labplatform/services/taskqueue/internal/task"
)

const (
	defaultTimeout  = 30 * time.Second
	callbackTimeout = 15 * time.Second
	userAgent       = "labplatform-taskqueue/1"
	requestID       = "X-Request-Id"
)

// build makes the request of a job, unsigned. Its errors are permanent failures.
func build(id job.ID, b *job.Body) (netguard.Request, error) {
	of := buildWebhook
	if id.Lane().Channel == job.Callback {
		of = buildCallback
	}
	q, err := of(b)
	if err != nil {
		return q, err
	}
	q.Header.Set("User-Agent", userAgent)
	q.Header.Set("X-Job-Id", string(id))
	q.Header.Set("Idempotency-Key", string(id))
	if b.Traceparent != "" {
		q.Header.Set("Traceparent", b.Traceparent)
	}
	if b.RequestID != "" && q.Header.Get(requestID) == "" {
		q.Header.Set(requestID, b.RequestID)
	}
	if len(q.Body) > 0 && q.Header.Get("Content-Type") == "" {
		q.Header.Set("Content-Type", "application/json")
	}
	return q, nil
}

func buildCallback(b *job.Body) (netguard.Request, error) {
	u, err := parseURL(b.Target)
	return netguard.Request{
		Method:  http.MethodPost,
		URL:     u,
		Header:  http.Header{},
		Body:    b.Data,
		Timeout: callbackTimeout,
	}, err
}

func buildWebhook(b *job.Body) (netguard.Request, error) {
	var d task.Webhook
	if err := json.Unmarshal(b.Data, &d); err != nil {
		return netguard.Request{}, job.Permanent("bad_payload", "The stored task cannot be read").WithCause(err)
	}
	q := netguard.Request{Method: method(b.TaskType), Header: http.Header{}, Timeout: defaultTimeout}
	if d.Timeout != nil {
		q.Timeout = time.Duration(*d.Timeout) * time.Second
	}
	if err := addHeaders(q.Header, b.Headers); err != nil {
		return q, err
	}
	var err error
	if q.URL, err = parseURL(d.URL); err != nil {
		return q, err
	}
	hasArgs := len(d.Args) > 0 && string(d.Args) != "null"
	switch {
	case hasArgs && asBody(q.Method, d.IsBody):
		q.Body = d.Args
	case hasArgs:
		err = addQuery(q.URL, d.Args)
	}
	return q, err
}

func parseURL(raw string) (*url.URL, error) {
	u, err := url.Parse(raw)
	if err != nil {
		return nil, job.Permanent("bad_url", "The URL of the task cannot be parsed")
	}
	return u, nil
}

func method(taskType int) string {
	methods := map[int]string{task.WebhookPost: http.MethodPost, task.WebhookPut: http.MethodPut,
		task.WebhookDelete: http.MethodDelete}
	return cmp.Or(methods[taskType], http.MethodGet)
}

// asBody reports whether args travel as the JSON body: as isBody says, else by method.
func asBody(method string, isBody json.RawMessage) bool {
	if len(isBody) > 0 && string(isBody) != "null" {
		return job.Flag(isBody)
	}
	return method == http.MethodPost || method == http.MethodPut
}

func addHeaders(to http.Header, stored []byte) error {
	if len(stored) == 0 {
		return nil
	}
	var headers map[string]string
	if err := json.Unmarshal(stored, &headers); err != nil {
		return job.Permanent("bad_payload", "The stored headers cannot be read").WithCause(err)
	}
	merged, problem := task.MergeHeaders(headers, nil)
	if problem != "" {
		return job.Permanent("bad_headers", "The headers of the task are not valid")
	}
	for name, value := range merged {
		to.Set(name, value)
	}
	return nil
}

// addQuery appends the members of args to the URL's own query, which stays as its caller wrote it, since it may be
// signed: text as it is, null as empty, objects and arrays as JSON.
func addQuery(u *url.URL, args json.RawMessage) error {
	var members map[string]json.RawMessage
	if err := json.Unmarshal(args, &members); err != nil {
		return job.Permanent("bad_payload", "args is not an object").WithCause(err)
	}
	query := url.Values{}
	for name, raw := range members {
		query.Set(name, queryText(raw))
	}
	if own := strings.TrimSuffix(u.RawQuery, "&"); own != "" && len(query) > 0 {
		u.RawQuery = own + "&" + query.Encode()
	} else if len(query) > 0 {
		u.RawQuery = query.Encode()
	}
	return nil
}

func queryText(raw json.RawMessage) string {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return text // also null, which leaves text empty
	}
	return string(raw)
}

// curl is the command line that repeats a request by hand, secrets masked.
func curl(q netguard.Request) string {
	var line strings.Builder
	_, _ = fmt.Fprintf(&line, "curl -X %s %s", q.Method, quote(q.URL.String()))
	for _, name := range slices.Sorted(maps.Keys(q.Header)) {
		_, _ = fmt.Fprintf(&line, " \\\n  -H %s", quote(name+": "+shown(name, q.Header.Get(name))))
	}
	if len(q.Body) > 0 {
		_, _ = fmt.Fprintf(&line, " \\\n  --data-raw %s", quote(string(q.Body)))
	}
	return line.String()
}

func quote(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }
