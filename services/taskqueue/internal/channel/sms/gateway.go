package sms

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/labplatform/labplatform/pkg/netguard"
	"github.com/labplatform/labplatform/services/taskqueue/internal/channel/provider"
)

// GatewaySettings are the settings of a row of kind http: any gateway that takes one HTTP request per message.
// url, headers and body are templates over Message with the functions json, query, path and secret.
type GatewaySettings struct {
	Method         string            `json:"method"` // POST by default
	URL            string            `json:"url"`
	Headers        map[string]string `json:"headers"`
	Body           string            `json:"body"`
	Sender         string            `json:"sender"` // for tasks without senderId
	TimeoutSeconds int               `json:"timeout_seconds"`
	Success        Success           `json:"success"`
	MessageID      string            `json:"message_id"` // path in the JSON answer: data.0.id
}

// Success tells an accepted message by its answer: the status, and for gateways that answer 200 to everything
// also a member of the JSON body.
type Success struct {
	Statuses []int    `json:"statuses"` // empty: every 2xx
	Field    string   `json:"field"`    // path in the JSON answer
	Values   []string `json:"values"`   // what it holds on success
}

// NewGateway makes a provider from the settings of its row. It tries the templates on a message full of special
// characters, so that a forgotten escape is found now and not by a patient's message.
func NewGateway(raw json.RawMessage, deps provider.Deps) (*Provider, error) {
	var s GatewaySettings
	if err := provider.Decode(raw, &s); err != nil {
		return nil, err
	}
	s.Method = cmp.Or(s.Method, http.MethodPost)
	if !slices.Contains([]string{http.MethodGet, http.MethodPost, http.MethodPut}, s.Method) {
		return nil, fmt.Errorf("method is %q: use GET, POST or PUT", s.Method)
	}
	if (s.Success.Field == "") != (len(s.Success.Values) == 0) {
		return nil, errors.New("success.field and success.values belong together")
	}
	t, err := newRequestTemplate(&s, deps.Secrets)
	if err != nil {
		return nil, err
	}
	p := &Provider{deps: deps, sender: s.Sender, request: t.request}
	p.read = func(answer *netguard.Response) (string, error) {
		if err := s.Success.judge(answer, deps.Clock.Now()); err != nil {
			return "", err
		}
		return provider.Lookup(answer.Body, s.MessageID), nil
	}
	return p, t.rehearse()
}

// judge returns nil when the answer says that the message was taken.
func (s *Success) judge(answer *netguard.Response, now time.Time) error {
	accepted := answer.Status >= 200 && answer.Status < 300
	if len(s.Statuses) > 0 {
		accepted = slices.Contains(s.Statuses, answer.Status)
	}
	switch {
	case !accepted && answer.Status < 300:
		return provider.FailOver("refused_by_provider",
			fmt.Sprintf("The provider answered %d, which its settings do not count as success", answer.Status))
	case !accepted:
		return provider.Status(answer, now, true, "")
	case s.Field != "" && !slices.Contains(s.Values, provider.Lookup(answer.Body, s.Field)):
		return provider.FailOver("refused_by_provider", "The provider's answer says that it did not take the message")
	}
	return nil
}
