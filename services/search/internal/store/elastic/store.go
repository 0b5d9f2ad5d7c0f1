package elastic

import (
	"context"
	"errors"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/labplatform/labplatform/pkg/clock"
	"github.com/labplatform/labplatform/pkg/elastic"
	"github.com/labplatform/labplatform/pkg/userindex"
	"github.com/labplatform/labplatform/services/search/internal/search"
)

// Store is the index of patients, to be read. Safe for concurrent use.
type Store struct {
	client  *elastic.Client
	cfg     Config
	clock   clock.Clock
	compile compiler
	breaker breaker
	old     atomic.Int64 // until when the live index is known to be of an older schema; Unix nanoseconds
}

// New returns a store on client, which stays the caller's to close.
func New(client *elastic.Client, cfg Config, clock clock.Clock) *Store {
	return &Store{
		client:  client,
		cfg:     cfg,
		clock:   clock,
		breaker: breaker{clock: clock},
		compile: compiler{codes: cfg.PhoneCountryCodes},
	}
}

// Search answers q within scope. When few are found and effort allows it, a second request finds them again, and below
// them names that sound alike or have typing errors. Whether that happens does not depend on the page that is asked
// for. When the second request fails, what the first one found is an answer in part. Errors: Unavailable when the index
// is down, overloaded or missing, DeadlineExceeded when it is too slow, Canceled; they hold neither the text nor what
// the engine says about it.
func (s *Store) Search(
	ctx context.Context,
	scope search.Scope,
	q search.Query,
	effort search.Effort,
) (search.Result, error) {
	ctx, cancel := context.WithTimeout(ctx, s.cfg.timeout())
	defer cancel()
	var recent *recency
	if effort == search.Full && s.cfg.RecencyEnabled {
		recent = &recency{cfg: &s.cfg, origin: s.clock.Now()}
	}
	if q.Key == search.Duplicate {
		p := s.compile.duplicates(q)
		return s.run(ctx, &p, scope, q, nil)
	}
	first := s.compile.first(q.Text, q.Fields, effort)
	result, err := s.run(ctx, &first, scope, q, recent)
	if err != nil || result.Partial || result.Total >= enough {
		return result, err
	}
	if result.Total == 0 {
		first = plan{} // nothing to find again
	}
	second, ok := s.compile.second(first, q.Text, q.Fields, effort)
	if !ok {
		return result, nil
	}
	again, err := s.search(ctx, &second, scope, q, recent)
	again.Took += result.Took
	switch {
	case err == nil:
		again.ByBucket = withRest(result.ByBucket, again.Total) // a name that is like the text adds patients alone
		return again, nil
	case len(result.Hits) > 0 && !errors.Is(err, errCanceled):
		result.Partial = true
		return result, nil
	}
	return again, err
}

// enough are the hits of a first request that make a second one needless.
const enough = 10

// run makes a search and counts what it found. Hits that cannot be counted are an answer in part.
func (s *Store) run(
	ctx context.Context,
	p *plan,
	scope search.Scope,
	q search.Query,
	recent *recency,
) (search.Result, error) {
	result, err := s.search(ctx, p, scope, q, recent)
	if err != nil {
		return search.Result{}, err
	}
	if result.ByBucket, err = s.count(ctx, p, scope, q, &result); err != nil {
		if errors.Is(err, errCanceled) {
			return search.Result{}, err
		}
		result.ByBucket, result.Partial = withRest(nil, result.Total), true
	}
	return result, nil
}

// search sends a plan. A plan without a way to find anything needs no engine.
func (s *Store) search(
	ctx context.Context,
	p *plan,
	scope search.Scope,
	q search.Query,
	recent *recency,
) (search.Result, error) {
	if p.empty() {
		return search.Result{}, nil
	}
	found, err := s.ask(ctx, p, scope, func(inFamilies bool) []byte {
		return p.body(scope, q, recent, engineTime(ctx), inFamilies)
	})
	if err != nil {
		return search.Result{}, s.fault(ctx, err)
	}
	return found.result(p)
}

// oldFor is how long it is remembered that the live index is of an older schema, which is searched field by field.
const oldFor = 5 * time.Second

// ask sends what body makes. The families of fields are asked by the alias that only an index of the present schema
// has, so that nothing is searched in an index that lacks them; a swap moves it together with the live alias.
func (s *Store) ask(
	ctx context.Context,
	p *plan,
	scope search.Scope,
	body func(inFamilies bool) []byte,
) (answer, error) {
	if now := s.clock.Now(); p.whole && now.UnixNano() >= s.old.Load() {
		found, err := s.send(ctx, scope, userindex.Reader(s.cfg.Alias, userindex.Schema), body(true))
		if !elastic.IsStatus(err, http.StatusNotFound) {
			return found, err
		}
		s.old.Store(now.Add(oldFor).UnixNano())
	}
	return s.send(ctx, scope, s.cfg.Alias, body(false))
}

// engineTime is how long the engine may work: enough less than we wait to read its answer.
func engineTime(ctx context.Context) time.Duration {
	deadline, _ := ctx.Deadline() // Search sets one
	return time.Until(deadline) * 9 / 10
}
