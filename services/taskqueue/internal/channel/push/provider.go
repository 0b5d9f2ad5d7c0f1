package push

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"sync"
	"time"

	"github.com/labplatform/labplatform/pkg/clock"
	"github.com/labplatform/labplatform/pkg/fcm"
	"github.com/labplatform/labplatform/pkg/netguard"
	"github.com/labplatform/labplatform/services/taskqueue/internal/channel/progress"
	"github.com/labplatform/labplatform/services/taskqueue/internal/channel/provider"
	"github.com/labplatform/labplatform/services/taskqueue/internal/job"
	"github.com/labplatform/labplatform/services/taskqueue/internal/task"
	"github.com/labplatform/labplatform/services/taskqueue/internal/worker"
)

// Settings are the settings of a row of kind fcm.
type Settings struct {
	Project        string `json:"project"`    // the key's own when empty
	KeySecret      string `json:"key_secret"` // name of the secret: the JSON key file of a service account
	BaseURL        string `json:"base_url"`
	TimeoutSeconds int    `json:"timeout_seconds"`
}

// Deps are what a provider works with.
type Deps struct {
	Client  provider.Client
	Secrets provider.Secrets
	Clock   clock.Clock
	Log     *slog.Logger
}

const (
	defaultBase    = "https://fcm.googleapis.com"
	defaultTimeout = 10 * time.Second
	maxTimeout     = 60 * time.Second
	parallel       = 16 // requests of one job at the same time
)

// Provider sends through one FCM project. Safe for concurrent use.
type Provider struct {
	deps     Deps
	access   *fcm.Access
	endpoint *url.URL
	timeout  time.Duration
}

// New makes a provider from the settings of its row.
func New(raw json.RawMessage, deps Deps) (*Provider, error) {
	s := Settings{BaseURL: defaultBase}
	if err := provider.Decode(raw, &s); err != nil {
		return nil, err
	}
	read := func() (*fcm.Account, error) {
		secret, err := deps.Secrets.Secret(s.KeySecret)
		if err != nil {
			return nil, err
		}
		return fcm.ReadAccount(secret)
	}
	key, err := read()
	if err != nil {
		return nil, fmt.Errorf("key_secret: %w", err)
	}
	if s.Project == "" {
		s.Project = key.Project
	}
	if s.Project == "" {
		return nil, errors.New("project is missing, in the settings and in the key")
	}
	base, err := provider.ParseBase(s.BaseURL)
	if err != nil {
		return nil, fmt.Errorf("base_url: %w", err)
	}
	p := &Provider{deps: deps, access: fcm.NewAccess(exchanger{deps.Client}, deps.Clock, read),
		endpoint: base.JoinPath("v1", "projects", s.Project, "messages:send"), timeout: defaultTimeout}
	if s.TimeoutSeconds > 0 {
		p.timeout = min(time.Duration(s.TimeoutSeconds)*time.Second, maxTimeout)
	}
	return p, nil
}

// Paid is false: a push costs nothing, and one too many does less harm than one too few.
func (p *Provider) Paid() bool { return false }

// round is one attempt over all recipients that are left.
type round struct {
	data  task.Push
	to    []string // tokens, or one empty string for the topic
	marks []progress.Mark

	mu       sync.Mutex // guards the fields below and marks
	id       string     // of the first message sent
	status   int
	own      error // the provider's own fault
	passing  error // the retryable failure that waits longest
	refusal  error // the last permanent one
	freshest int   // tokens sent in this round
}

// Handle sends to every token that has no fate yet. The fates are told with the result, so that a retry leaves those
// tokens out.
func (p *Provider) Handle(ctx context.Context, d worker.Delivery) (job.Result, error) {
	r := &round{}
	if err := json.Unmarshal(d.Body.Data, &r.data); err != nil {
		return job.Result{}, job.Permanent("bad_payload", "The stored task cannot be read").WithCause(err)
	}
	r.to = r.data.Tokens
	if r.data.Topic != "" {
		r.to = []string{""}
	}
	r.marks = progress.Read(d.Body, len(r.to))
	token, err := p.access.Token(ctx)
	if err != nil {
		return r.result(), failure(err)
	}
	p.sendAll(ctx, r, token)
	p.report(ctx, d.ID, r)
	err = r.conclude()
	result := r.result()
	if err != nil && r.freshest > 0 {
		result.Progress = progress.Encode(r.marks)
	}
	return result, err
}

func (p *Provider) sendAll(ctx context.Context, r *round, token string) {
	places := make(chan struct{}, parallel)
	var all sync.WaitGroup
	for i, mark := range r.marks {
		if mark != progress.Left {
			continue
		}
		places <- struct{}{}
		if ctx.Err() != nil || r.stopped() {
			break
		}
		all.Go(func() {
			defer func() { <-places }()
			p.sendOne(ctx, r, i, token)
		})
	}
	all.Wait()
}

func (p *Provider) sendOne(ctx context.Context, r *round, i int, token string) {
	body, err := Render(&r.data, r.to[i])
	if err != nil {
		r.note(i, progress.Refused, 0, "", job.Permanent("bad_payload", "The push message cannot be built"))
		return
	}
	h := http.Header{"Content-Type": {"application/json"}, "Authorization": {"Bearer " + token}}
	answer, err := exchanger{
		p.deps.Client,
	}.Do(ctx, netguard.Request{Method: http.MethodPost, URL: p.endpoint, Header: h, Body: body, Timeout: p.timeout})
	if err != nil {
		r.note(i, progress.Left, 0, "", err)
		return
	}
	mark, err := judge(fcm.Judge(answer, p.deps.Clock.Now()))
	if answer.Status == http.StatusUnauthorized {
		p.access.Drop(token)
	}
	r.note(i, mark, answer.Status, messageID(answer.Body), err)
}

// report logs dead tokens by their hashes.
func (p *Provider) report(ctx context.Context, id job.ID, r *round) {
	var dead []string
	for i, mark := range r.marks {
		if mark == progress.Dead {
			dead = append(dead, provider.Hash(r.to[i]))
		}
	}
	if len(dead) > 0 {
		p.deps.Log.InfoContext(ctx, "push tokens are dead", "job_id", string(id), "tokens", len(r.to), "dead", dead)
	}
}
