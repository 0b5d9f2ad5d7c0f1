// Package authcount counts accepted and rejected sessions and tokens.
package authcount

import (
	"context"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/labplatform/labplatform/pkg/apperr"
	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/pkg/telemetry"
)

// Authenticator converts credentials to a principal. *authn.Authenticator is one.
type Authenticator interface {
	Authenticate(ctx context.Context, c authn.Credentials) (authn.Principal, error)
}

// Counted is an authenticator that counts its results.
type Counted struct {
	next  Authenticator
	count *prometheus.CounterVec
}

var _ Authenticator = (*Counted)(nil)

// Label values. An invalid token of a service is indistinguishable from that of a user.
const (
	session = "session"
	token   = "token"
	service = "service"
	none    = "none" // no credentials

	success     = "success"
	failure     = "failure"
	unavailable = "unavailable" // the session store was unavailable
)

// New registers search_auth_total and returns an authenticator that calls next and counts every result.
func New(next Authenticator, registry prometheus.Registerer) *Counted {
	count := telemetry.NewMetrics(registry).Counters("search_auth_total",
		"Presented credentials, by kind and outcome of the check.",
		telemetry.By[string]("kind"), telemetry.By[string]("outcome"))
	for _, series := range [][2]string{ // other combinations do not occur
		{session, success}, {session, failure}, {session, unavailable}, {token, success}, {token, failure},
		{service, success}, {none, failure},
	} {
		count.WithLabelValues(series[0], series[1])
	}
	return &Counted{next: next, count: count}
}

func (c *Counted) Authenticate(ctx context.Context, credentials authn.Credentials) (authn.Principal, error) {
	p, err := c.next.Authenticate(ctx, credentials)
	c.count.WithLabelValues(kind(credentials, p, err), outcome(err)).Inc()
	return p, err
}

func kind(credentials authn.Credentials, p authn.Principal, err error) string {
	e, refused := apperr.From(err)
	switch {
	case p.Kind == authn.Service:
		return service
	case credentials.Authorization != "":
		return token
	case refused && e.Reason == "CREDENTIAL_MISSING":
		return none
	}
	return session
}

func outcome(err error) string {
	switch {
	case err == nil:
		return success
	case apperr.KindOf(err) == apperr.Unavailable:
		return unavailable
	}
	return failure
}
