package push

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/labplatform/labplatform/pkg/config"
	"github.com/labplatform/labplatform/pkg/fcm"
	"github.com/labplatform/labplatform/services/taskqueue/internal/channel/progress"
	"github.com/labplatform/labplatform/services/taskqueue/internal/delivery/provider"
	"github.com/labplatform/labplatform/services/taskqueue/internal/job"
	"github.com/labplatform/labplatform/services/taskqueue/internal/task"
	"github.com/labplatform/labplatform/services/taskqueue/internal/worker"
)

// Settings are the settings of a row of kind fcm.
type Settings struct {
	Project        string `json:"project"`    // empty: the project in the key
	KeySecret      string `json:"key_secret"` // name of the secret with the JSON key file of a service account
	BaseURL        string `json:"base_url"`
	TimeoutSeconds int    `json:"timeout_seconds"`
}

const (
	defaultTimeout = 10 * time.Second
	maxTimeout     = time.Minute
	parallel       = 16 // concurrent requests per job
)

// Provider sends through one FCM project. It is safe for concurrent use.
type Provider struct {
	deps     provider.Deps
	access   *fcm.Access
	endpoint *url.URL
	timeout  time.Duration
}

// New returns a provider for the settings of a row.
func New(raw json.RawMessage, deps provider.Deps) (*Provider, error) {
	s := Settings{BaseURL: "https://fcm.googleapis.com"}
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
	project := cmp.Or(s.Project, key.Project)
	if project == "" {
		return nil, errors.New("project is missing, in the settings and in the key")
	}
	base, err := deps.ParseBase(s.BaseURL)
	if err != nil {
		return nil, err
	}
	return &Provider{
		deps:     deps,
		access:   fcm.NewAccess(&deps, deps.Clock, read),
		endpoint: base.JoinPath("v1", "projects", project, "messages:send"),
		timeout:  provider.Timeout(s.TimeoutSeconds, defaultTimeout, maxTimeout),
	}, nil
}

// Paid returns false: a push costs nothing and a duplicate is nearly harmless, so a send is not marked before it is
// made.
func (p *Provider) Paid() bool { return false }

// Handle sends to all remaining tokens. It returns the states of the tokens with the result, so that a retry skips
// finished ones.
func (p *Provider) Handle(ctx context.Context, d worker.Delivery) (job.Result, error) {
	r, err := newRound(d.Body)
	if err != nil {
		return job.Result{}, err
	}
	token, err := p.access.Token(ctx)
	if err != nil {
		return r.result(), failure(err)
	}
	p.sendAll(ctx, r, config.Secret(token))
	err = r.conclude()
	p.report(ctx, d.ID, r)
	return r.result(), err
}

// sendAll sends to the remaining recipients. It stops after an error of the provider, which the other requests would
// get too.
func (p *Provider) sendAll(ctx context.Context, r *round, token config.Secret) {
	var stopped atomic.Bool
	places := make(chan struct{}, parallel)
	var all sync.WaitGroup
	for i, mark := range r.marks {
		if mark != progress.Left {
			continue
		}
		places <- struct{}{}
		if ctx.Err() != nil || stopped.Load() {
			break
		}
		all.Go(func() {
			defer func() { <-places }()
			r.fates[i] = p.sendOne(ctx, &r.data, r.to[i], token)
			if f := job.AsFailure(r.fates[i].err); f.Elsewhere && !f.OfMessage {
				stopped.Store(true)
			}
		})
	}
	all.Wait()
}

func (p *Provider) sendOne(ctx context.Context, data *task.Push, to string, token config.Secret) fate {
	body, err := Render(data, to)
	if err != nil {
		return fate{mark: progress.Refused, err: job.Permanent("bad_payload", "The push message cannot be built")}
	}
	answer, err := p.deps.Do(ctx, provider.PostJSON(p.endpoint, token, body, p.timeout))
	if err != nil {
		return fate{mark: progress.Left, err: err}
	}
	said := fcm.Classify(answer, p.deps.Clock.Now())
	if answer.Status == http.StatusUnauthorized && said.Class != fcm.Platform {
		p.access.Drop(token.Reveal())
	}
	if said == nil {
		name, found := provider.Lookup(answer.Body, "name") // the name has the form projects/<project>/messages/<id>
		if !found {                                         // the response is not from FCM
			doubt := provider.Unreadable()
			doubt.Repeatable = true
			return fate{mark: progress.Left, status: answer.Status, err: doubt}
		}
		return fate{mark: progress.Sent, status: answer.Status, id: name[strings.LastIndexByte(name, '/')+1:]}
	}
	return fate{mark: markOf(said), status: answer.Status, err: failure(said)}
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
