package elastic

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/elastic/go-elasticsearch/v8/esapi"

	"github.com/labplatform/labplatform/pkg/apperr"
	"github.com/labplatform/labplatform/pkg/elastic"
	"github.com/labplatform/labplatform/services/search/internal/search"
)

const (
	retryAfter = 2 * time.Second
	// patience is the timeout per node, after which another node is tried. It is longer than nearly all searches, but
	// short enough to try three nodes within the timeout of a search.
	patience = 1500 * time.Millisecond
)

var (
	errTimeout = apperr.New(apperr.DeadlineExceeded, "SEARCH_TIMEOUT",
		"the search took too long: try again, or give more of the name, the number or the identifier")
	errUnavailable = apperr.New(apperr.Unavailable, "SEARCH_UNAVAILABLE",
		"the search is not available at the moment: try again in a few seconds").WithRetryAfter(retryAfter)
	errCanceled = apperr.New(apperr.Canceled, "CANCELED", "the search was given up by its caller")
)

// send sends a search to the shard of the laboratory, unless the circuit breaker rejects it.
func (s *Store) send(ctx context.Context, scope search.Scope, index string, body []byte) (answer, error) {
	if err := s.breaker.admit(); err != nil {
		return answer{}, err
	}
	var found answer
	err := s.client.Do(ctx, elastic.Call{
		Name:    "search",
		Request: esapi.SearchRequest{Index: []string{index}, Routing: []string{strconv.FormatInt(scope.Lab.LabID(), 10)}},
		Body:    body,
		Repeat:  true, AttemptTimeout: patience,
	}, found.read)
	s.breaker.note(ctx, err)
	return found, err
}

// fault converts the error of a failed call for the caller, and keeps the cause for the log.
func (s *Store) fault(ctx context.Context, err error) error {
	var refused *elastic.Error
	switch {
	case errors.Is(ctx.Err(), context.Canceled):
		return errCanceled.WithCause(err)
	case ctx.Err() != nil:
		return errTimeout.WithCause(err)
	case !errors.As(err, &refused):
		return errUnavailable.WithCause(err)
	}
	switch refused.Status {
	case http.StatusNotFound:
		return errUnavailable.WithCause(fmt.Errorf("%w: %w", s.noIndex(), err))
	case http.StatusUnauthorized, http.StatusForbidden:
		return errUnavailable.WithCause(
			fmt.Errorf("the index refuses the credentials: check ES_USER and ES_PASSWORD, or ES_API_KEY: %w", err))
	case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return errUnavailable.WithCause(err)
	}
	return fmt.Errorf("search the index: %w", err)
}

func (s *Store) noIndex() error {
	return fmt.Errorf("no index has the alias %s: make one with `cdc migrate` and fill it with `cdc rebuild`", s.cfg.Alias)
}
