package task

import (
	"encoding/json"
	"errors"
	"net/url"
	"strings"

	"github.com/labplatform/labplatform/services/taskqueue/internal/job"
)

var errArgs = errors.New("args is not an object")

// ArgsInBody reports whether args are sent as the JSON body: if isBody is set, as it says; otherwise for POST and PUT.
func (d *Webhook) ArgsInBody(method string) bool {
	if len(d.IsBody) > 0 && string(d.IsBody) != "null" {
		return job.Flag(d.IsBody)
	}
	return method == "POST" || method == "PUT"
}

// WithArgs returns u with the members of args appended to its query: texts unchanged, null as empty, objects and arrays
// as JSON. The existing query is not changed, because it may be signed.
func WithArgs(u *url.URL, args json.RawMessage) (*url.URL, error) {
	var members map[string]json.RawMessage
	if json.Unmarshal(args, &members) != nil {
		return nil, errArgs
	}
	query := url.Values{}
	for name, raw := range members {
		query.Set(name, queryText(raw))
	}
	with := *u
	own := strings.TrimSuffix(u.RawQuery, "&")
	switch {
	case len(query) == 0:
	case own == "":
		with.RawQuery = query.Encode()
	default:
		with.RawQuery = own + "&" + query.Encode()
	}
	return &with, nil
}

// queryText returns the value of a member of args for the query.
func queryText(raw json.RawMessage) string {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return text // null leaves text empty
	}
	return string(raw)
}

// Method returns the HTTP method of a webhook's sub-type.
func Method(taskType int) string {
	switch taskType {
	case WebhookPost:
		return "POST"
	case WebhookPut:
		return "PUT"
	case WebhookDelete:
		return "DELETE"
	}
	return "GET"
}
