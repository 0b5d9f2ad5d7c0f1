package whatsapp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"time"

	"github.com/labplatform/labplatform/pkg/clock"
	"github.com/labplatform/labplatform/pkg/netguard"
	"github.com/labplatform/labplatform/services/taskqueue/internal/channel/progress"
	"github.com/labplatform/labplatform/services/taskqueue/internal/channel/provider"
	"github.com/labplatform/labplatform/services/taskqueue/internal/job"
	"github.com/labplatform/labplatform/services/taskqueue/internal/task"
	"github.com/labplatform/labplatform/services/taskqueue/internal/worker"
)

// Settings are the settings of a row of kind graph.
type Settings struct {
	PhoneNumberID  string `json:"phone_number_id"` // of the sender
	TokenSecret    string `json:"token_secret"`    // name of the secret
	Version        string `json:"version"`         // of the interface: v23.0
	BaseURL        string `json:"base_url"`
	TimeoutSeconds int    `json:"timeout_seconds"`
}

// Deps are what a provider works with.
type Deps struct {
	Client  provider.Client
	Secrets provider.Secrets
	Clock   clock.Clock
}

const (
	defaultBase    = "https://graph.facebook.com"
	defaultVersion = "v23.0" // pinned: an interface without a version changes under us
	defaultTimeout = 20 * time.Second
	maxTimeout     = 60 * time.Second
)

// Provider sends from one number. Safe for concurrent use.
type Provider struct {
	deps     Deps
	settings Settings
	endpoint *url.URL
	timeout  time.Duration
}

// New makes a provider from the settings of its row.
func New(raw json.RawMessage, deps Deps) (*Provider, error) {
	p := &Provider{deps: deps, settings: Settings{BaseURL: defaultBase, Version: defaultVersion}, timeout: defaultTimeout}
	if err := provider.Decode(raw, &p.settings); err != nil {
		return nil, err
	}
	s := &p.settings
	if !regexp.MustCompile(`^[0-9]+$`).MatchString(s.PhoneNumberID) {
		return nil, errors.New("phone_number_id must be the number's id, digits only")
	}
	if !regexp.MustCompile(`^v[0-9]+\.[0-9]+$`).MatchString(s.Version) {
		return nil, fmt.Errorf("version is %q: write it like %s", s.Version, defaultVersion)
	}
	base, err := provider.ParseBase(s.BaseURL)
	if err != nil {
		return nil, fmt.Errorf("base_url: %w", err)
	}
	p.endpoint = base.JoinPath(s.Version, s.PhoneNumberID, "messages")
	if s.TimeoutSeconds > 0 {
		p.timeout = min(time.Duration(s.TimeoutSeconds)*time.Second, maxTimeout)
	}
	_, err = deps.Secrets.Secret(s.TokenSecret)
	return p, err
}

// Paid is true: conversations are charged, and a report must not arrive twice.
func (p *Provider) Paid() bool { return true }

// Handle sends the parts of a task that are not sent yet, in order. What was sent is told with the result, so that a
// retry leaves it out.
func (p *Provider) Handle(ctx context.Context, d worker.Delivery) (job.Result, error) {
	var data task.WhatsApp
	if err := json.Unmarshal(d.Body.Data, &data); err != nil {
		return job.Result{}, job.Permanent("bad_payload", "The stored task cannot be read").WithCause(err)
	}
	parts, err := Parts(d.ID, &data)
	if err != nil {
		return job.Result{}, job.Permanent("bad_payload", "The WhatsApp message cannot be built").WithCause(err)
	}
	token, err := p.deps.Secrets.Secret(p.settings.TokenSecret)
	if err != nil {
		return job.Result{}, provider.NoSecret("The provider's secret cannot be read")
	}
	marks := progress.Read(d.Body, len(parts))
	result := job.Result{Sent: progress.Count(marks, progress.Sent) > 0}
	for i, part := range parts {
		if marks[i] == progress.Sent {
			continue
		}
		answer, err := p.send(ctx, part, token.Reveal())
		if answer != nil {
			result.HTTPStatus = answer.Status
		}
		if err != nil {
			result.Sent = result.Sent || provider.Interrupted(err).Sent
			return result, err
		}
		marks[i], result.Sent = progress.Sent, true
		if result.MessageID == "" {
			result.MessageID = messageID(answer.Body)
		}
		if len(parts) > 1 {
			result.Progress = progress.Encode(marks)
		}
	}
	return result, nil
}

func (p *Provider) send(ctx context.Context, part []byte, token string) (*netguard.Response, error) {
	h := http.Header{"Content-Type": {"application/json"}, "Authorization": {"Bearer " + token}}
	answer, err := provider.Exchange(ctx, p.deps.Client,
		netguard.Request{Method: http.MethodPost, URL: p.endpoint, Header: h, Body: part, Timeout: p.timeout}, p.Paid())
	switch {
	case err != nil:
		return nil, err
	case answer.Status < 200 || answer.Status > 299:
		return answer, failure(answer, p.deps.Clock.Now())
	}
	return answer, nil
}

func messageID(body []byte) string {
	var sent struct {
		Messages []struct {
			ID string `json:"id"`
		} `json:"messages"`
	}
	if json.Unmarshal(body, &sent) != nil || len(sent.Messages) == 0 {
		return ""
	}
	return sent.Messages[0].ID
}
