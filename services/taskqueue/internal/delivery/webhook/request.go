package webhook

import (
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

// build returns the unsigned request of a job. Its errors are permanent failures.
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
	q := netguard.Request{Method: task.Method(b.TaskType), Header: http.Header{}, Timeout: defaultTimeout}
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
	case hasArgs && d.ArgsInBody(q.Method):
		q.Body = d.Args
	case hasArgs:
		q.URL, err = task.WithArgs(q.URL, d.Args)
		if err != nil {
			err = job.Permanent("bad_payload", "args is not an object").WithCause(err)
		}
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

// curl returns a command line that repeats a request, with secrets masked.
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
