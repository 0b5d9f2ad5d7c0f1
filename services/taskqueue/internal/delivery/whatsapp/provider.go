package whatsapp

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"time"

	"github.com/labplatform/labplatform/services/taskqueue/internal/channel/progress"
	"github.com/labplatform/labplatform/services/taskqueue/internal/delivery/provider"
	"github.com/labplatform/labplatform/services/taskqueue/internal/job"
	"github.com/labplatform/labplatform/services/taskqueue/internal/task"
	"github.com/labplatform/labplatform/services/taskqueue/internal/worker"
)

// Settings are the settings of a row of kind graph.
type Settings struct {
	PhoneNumberID  string `json:"phone_number_id"` // id of the sender's number
	TokenSecret    string `json:"token_secret"`    // name of the secret with the token
	Version        string `json:"version"`         // version of the API, such as v23.0
	BaseURL        string `json:"base_url"`
	TimeoutSeconds int    `json:"timeout_seconds"`
}

const (
	defaultVersion = "v23.0" // pinned, because an unversioned API may change at any time
	defaultTimeout = 20 * time.Second
	maxTimeout     = time.Minute
)

// Provider sends from one phone number. It is safe for concurrent use.
type Provider struct {
	deps     provider.Deps
	secret   string // name of the secret with the token
	endpoint *url.URL
	timeout  time.Duration
}

// New returns a provider for the settings of a row.
func New(raw json.RawMessage, deps provider.Deps) (*Provider, error) {
	s := Settings{BaseURL: "https://graph.facebook.com", Version: defaultVersion}
	if err := provider.Decode(raw, &s); err != nil {
		return nil, err
	}
	if !regexp.MustCompile(`^[0-9]+$`).MatchString(s.PhoneNumberID) {
		return nil, errors.New("phone_number_id must be the number's id, digits only")
	}
	if !regexp.MustCompile(`^v[0-9]+\.[0-9]+$`).MatchString(s.Version) {
		return nil, fmt.Errorf("version is %q: write it like %s", s.Version, defaultVersion)
	}
	base, err := deps.ParseBase(s.BaseURL)
	if err != nil {
		return nil, err
	}
	_, err = deps.Secrets.Secret(s.TokenSecret)
	return &Provider{
		deps:     deps,
		secret:   s.TokenSecret,
		endpoint: base.JoinPath(s.Version, s.PhoneNumberID, "messages"),
		timeout:  provider.Timeout(s.TimeoutSeconds, defaultTimeout, maxTimeout),
	}, err
}

// Paid returns true: conversations are charged, and a report must not arrive twice.
func (p *Provider) Paid() bool { return true }

// Handle sends the remaining parts of a task in order. It returns the states of the parts with the result, so that a
// retry skips sent ones.
func (p *Provider) Handle(ctx context.Context, d worker.Delivery) (job.Result, error) {
	var data task.WhatsApp
	if err := json.Unmarshal(d.Body.Data, &data); err != nil {
		return job.Result{}, job.Permanent("bad_payload", "The stored task cannot be read").WithCause(err)
	}
	to, err := data.Accepted()
	if err != nil {
		return job.Result{}, err
	}
	parts, err := Parts(d.ID, &data, to)
	if err != nil {
		return job.Result{}, job.Permanent("bad_payload", "The WhatsApp message cannot be built").WithCause(err)
	}
	token, err := p.deps.Secrets.Secret(p.secret)
	if err != nil {
		return job.Result{}, provider.NoSecret("The provider's secret cannot be read")
	}
	marks := progress.Read(d.Body, len(parts))
	result := job.Result{Sent: progress.Count(marks, progress.Sent) > 0}
	for i, part := range parts {
		if marks[i] == progress.Sent {
			continue
		}
		one, err := p.deps.Send(ctx, provider.PostJSON(p.endpoint, token, part, p.timeout), p.read)
		result.HTTPStatus = cmp.Or(one.HTTPStatus, result.HTTPStatus)
		result.Sent = result.Sent || one.Sent
		if err != nil {
			return result, err
		}
		marks[i], result.MessageID = progress.Sent, cmp.Or(result.MessageID, one.MessageID)
		if len(parts) > 1 {
			result.Progress = marks
		}
	}
	return result, nil
}
