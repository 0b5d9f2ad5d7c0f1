package sms

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/labplatform/labplatform/pkg/netguard"
	"github.com/labplatform/labplatform/services/taskqueue/internal/channel/provider"
	"github.com/labplatform/labplatform/services/taskqueue/internal/job"
	"github.com/labplatform/labplatform/services/taskqueue/internal/worker"
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

const (
	defaultTimeout = 15 * time.Second
	maxTimeout     = 60 * time.Second
)

// Gateway sends through an HTTP gateway that a template describes. Safe for concurrent use.
type Gateway struct {
	deps     Deps
	settings GatewaySettings
	request  *requestTemplate
}

// NewGateway makes a provider from the settings of its row. It tries the templates on a message full of special
// characters, so that a forgotten escape is found now and not by a patient's message.
func NewGateway(raw json.RawMessage, deps Deps) (*Gateway, error) {
	g := &Gateway{deps: deps}
	if err := provider.Decode(raw, &g.settings); err != nil {
		return nil, err
	}
	if g.settings.Method == "" {
		g.settings.Method = http.MethodPost
	}
	if !slices.Contains([]string{http.MethodGet, http.MethodPost, http.MethodPut}, g.settings.Method) {
		return nil, fmt.Errorf("method is %q: use GET, POST or PUT", g.settings.Method)
	}
	if (g.settings.Success.Field == "") != (len(g.settings.Success.Values) == 0) {
		return nil, errors.New("success.field and success.values belong together")
	}
	var err error
	if g.request, err = newRequestTemplate(&g.settings, deps.Secrets); err != nil {
		return nil, err
	}
	return g, g.request.rehearse()
}

// Paid is true.
func (g *Gateway) Paid() bool { return true }

// Handle sends one message once.
func (g *Gateway) Handle(ctx context.Context, d worker.Delivery) (job.Result, error) {
	m, err := messageOf(d, g.settings.Sender)
	if err != nil {
		return job.Result{}, err
	}
	q, err := g.request.render(m)
	if err != nil {
		return job.Result{}, provider.FailOver("template", "The request to the provider cannot be built from its template")
	}
	q.Timeout = timeout(g.settings.TimeoutSeconds)
	answer, err := provider.Exchange(ctx, g.deps.Client, q, g.Paid())
	if err != nil {
		return provider.Interrupted(err), err
	}
	err = g.judge(answer)
	result := provider.Interrupted(err)
	result.HTTPStatus = answer.Status
	if err == nil {
		result.Sent, result.MessageID = true, lookup(answer.Body, g.settings.MessageID)
	}
	return result, err
}

func timeout(seconds int) time.Duration {
	if seconds <= 0 {
		return defaultTimeout
	}
	return min(time.Duration(seconds)*time.Second, maxTimeout)
}

func (g *Gateway) judge(answer *netguard.Response) error {
	rule := g.settings.Success
	accepted := answer.Status >= 200 && answer.Status < 300
	if len(rule.Statuses) > 0 {
		accepted = slices.Contains(rule.Statuses, answer.Status)
	}
	switch {
	case !accepted && answer.Status < 300:
		return provider.FailOver("refused_by_provider",
			fmt.Sprintf("The provider answered %d, which its settings do not count as success", answer.Status))
	case !accepted:
		return provider.Status(answer.Status, answer.Header, g.deps.Clock.Now(), g.Paid(), "")
	case rule.Field != "" && !slices.Contains(rule.Values, lookup(answer.Body, rule.Field)):
		return provider.FailOver("refused_by_provider", "The provider's answer says that it did not take the message")
	}
	return nil
}
