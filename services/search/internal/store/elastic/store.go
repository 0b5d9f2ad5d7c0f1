package elastic

import (
	"context"
	"errors"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/labplatform/labplatform/pkg/clock"
	"github.com/labplatform/labplatform/pkg/elastic"
	"github.com/labplatform/labplatform/pkg/lab/userindex"
	"github.com/labplatform/labplatform/services/search/internal/ranking"
	"github.com/labplatform/labplatform/services/search/internal/search"
)

// Store searches the index of patients. Its methods may be called from several goroutines.
type Store struct {
	client  *elastic.Client
	cfg     Config
	clock   clock.Clock
	compile ranking.Compiler
	breaker breaker
	old     atomic.Int64 // the live index is assumed to have the older schema until then; Unix nanoseconds
}

// New returns a store over client, which the caller closes.
func New(client *elastic.Client, cfg Config, clock clock.Clock) *Store {
	return &Store{
		client:  client,
		cfg:     cfg,
		clock:   clock,
		breaker: breaker{clock: clock},
		compile: ranking.Compiler{Codes: cfg.PhoneCountryCodes},
	}
}

// Search returns the hits of q within scope. If there are fewer than ten and effort permits, a second request finds
// names that sound alike or have typing errors, ranked below the first hits. If there are no hits, a third one finds
// names with two errors. For a text that rarely has ten hits, the first two requests of the first page are combined;
// the hits are the same. If few patients are found, a last request finds patients that match most of the text. If a
// further request fails, the first hits are returned as a partial result. Errors: Unavailable if the index is down,
// overloaded or missing, DeadlineExceeded if it is too slow, Canceled, and Internal if the index rejects the request.
// They contain neither the text nor the engine's message about it.
func (s *Store) Search(
	ctx context.Context, scope search.Scope, q search.Query, effort search.Effort,
) (search.Result, error) {
	return s.searchBy(ctx, scope, q, effort, s.find)
}

// asker runs the plans of a search.
type asker func(ctx context.Context, l *look, effort search.Effort) (search.Result, error)

// searchBy runs ask within the service's timeout, and adds the cursor of the next page.
func (s *Store) searchBy(
	ctx context.Context, scope search.Scope, q search.Query, effort search.Effort, ask asker,
) (search.Result, error) {
	ctx, cancel := context.WithTimeout(ctx, s.cfg.timeout())
	defer cancel()
	l := look{scope: scope, page: q}
	if q.Key != search.Duplicate && effort == search.Full && s.cfg.RecencyEnabled {
		l.recent = &recency{cfg: &s.cfg, origin: s.origin(q)}
	}
	result, err := ask(ctx, &l, effort)
	if err == nil && !result.Partial && effort == search.Full && q.Key != search.Duplicate && result.Total < enough {
		result, err = s.lenient(ctx, &l, result)
	}
	if n := len(result.Hits); n > 0 && n == q.Size {
		last := &result.Hits[n-1]
		result.Next = search.Cursor{Score: last.Score, UserID: last.UserID, Origin: s.origin(q)}.Encode(q)
	}
	return result, err
}

func (s *Store) find(ctx context.Context, l *look, effort search.Effort) (search.Result, error) {
	q := &l.page
	if q.Key == search.Duplicate {
		p := s.compile.Duplicates(*q)
		return s.run(ctx, &p, l)
	}
	// Only the first page can be searched with a combined request. On later pages the number of preceding hits of the
	// first plan is unknown.
	if q.From == 0 && q.After == nil && ranking.IsSeldom(q.Text) {
		if second, ok := s.compile.Second(ranking.Plan{}, q.Text, q.Fields, effort); ok {
			return s.combined(ctx, s.compile.First(q.Text, q.Fields, effort), second, l)
		}
	}
	return s.inTurn(ctx, l, effort)
}

// inTurn runs the plans one after the other. Each further plan runs only if the previous one found few patients.
func (s *Store) inTurn(ctx context.Context, l *look, effort search.Effort) (search.Result, error) {
	first := s.compile.First(l.page.Text, l.page.Fields, effort)
	result, err := s.run(ctx, &first, l)
	if err != nil || result.Partial || result.Total >= enough {
		return result, err
	}
	return s.further(ctx, first, l, effort, result)
}

// lenient finds patients that match most of the text. It runs if no patient was found, or if the text contains more
// than the earlier plans compare and does not equal an identifier. Its hits rank below those of the earlier plans. If
// it fails, the earlier hits are returned as a partial result.
func (s *Store) lenient(ctx context.Context, l *look, found search.Result) (search.Result, error) {
	q := &l.page
	p, more, ok := s.compile.Last(q.Text, q.Fields)
	if !ok || found.Total > 0 && (!more || s.isWhole(ctx, l, found.Hits)) {
		return found, nil
	}
	if found.Total > 0 {
		p = s.compile.All(p, *q)
	}
	result, err := s.run(ctx, &p, l)
	result.Took += found.Took
	if err != nil && len(found.Hits) > 0 && !errors.Is(err, errCanceled) {
		found.Partial = true
		return found, nil
	}
	return result, err
}

// isWhole reports whether the best hit on the first page has an identifier that equals the text.
func (s *Store) isWhole(ctx context.Context, l *look, hits []search.Hit) bool {
	if l.page.From > 0 || l.page.After != nil {
		top, p := *l, s.compile.First(l.page.Text, l.page.Fields, search.Least)
		top.page.From, top.page.After, top.page.Size = 0, nil, 1
		first, err := s.search(ctx, &p, &top)
		if err != nil {
			return false
		}
		hits = first.Hits
	}
	return len(hits) > 0 && ranking.IsWhole(hits[0].Score)
}

// origin returns the reference time for recency: the time of the request for the first page, on all pages.
func (s *Store) origin(q search.Query) time.Time {
	if q.After != nil {
		return q.After.Origin
	}
	return s.clock.Now().Truncate(time.Hour)
}

// enough is the number of hits from which on no second request is sent.
const enough = 10

// further finds names similar to the text. They are ranked below the hits of the first request.
func (s *Store) further(
	ctx context.Context, first ranking.Plan, l *look, effort search.Effort, result search.Result,
) (search.Result, error) {
	all := result.Total == int64(len(result.Hits)) // the page has all hits; the second request excludes them
	if all {
		first = ranking.Plan{}
	}
	second, ok := s.compile.Second(first, l.page.Text, l.page.Fields, effort)
	if !ok {
		return result, nil
	}
	below := *l
	if all {
		below.but, below.page.Size = usersOf(result.Hits), l.page.Size-len(result.Hits)
	}
	again, err := s.search(ctx, &second, &below)
	if err == nil && result.Total+again.Total == 0 {
		again, err = s.furthest(ctx, l, effort, again)
	}
	again.Took += result.Took
	switch {
	case err == nil && all:
		again.Hits, again.Total = append(result.Hits, again.Hits...), result.Total+again.Total
		fallthrough
	case err == nil:
		again.ByBucket = withRest(result.ByBucket, again.Total) // similar names only add hits to search.Patient
		return again, nil
	case len(result.Hits) > 0 && !errors.Is(err, errCanceled):
		result.Partial = true
		return result, nil
	}
	return again, err
}

// furthest finds names with two errors if nothing was found before. It is the most expensive search.
func (s *Store) furthest(
	ctx context.Context, l *look, effort search.Effort, none search.Result,
) (search.Result, error) {
	third, ok := s.compile.Third(l.page.Text, l.page.Fields, effort)
	if !ok {
		return none, nil
	}
	result, err := s.search(ctx, &third, l)
	result.Took += none.Took
	return result, err
}

func usersOf(hits []search.Hit) []int64 {
	users := make([]int64, len(hits))
	for i := range hits {
		users[i] = hits[i].UserID
	}
	return users
}

// run searches and counts the hits by bucket. If the count fails, the result is partial.
func (s *Store) run(ctx context.Context, p *ranking.Plan, l *look) (search.Result, error) {
	result, err := s.search(ctx, p, l)
	if err != nil {
		return search.Result{}, err
	}
	if result.ByBucket, err = s.count(ctx, p, l, &result); err != nil {
		if errors.Is(err, errCanceled) {
			return search.Result{}, err
		}
		result.ByBucket, result.Partial = withRest(nil, result.Total), true
	}
	return result, nil
}

// search sends a plan and returns its hits. An empty plan is not sent.
func (s *Store) search(ctx context.Context, p *ranking.Plan, l *look) (search.Result, error) {
	if p.Empty() {
		return search.Result{}, nil
	}
	found, err := s.ask(ctx, l, func(l *look) []byte { return body(p, l, engineTime(ctx)) })
	if err != nil {
		return search.Result{}, s.fault(ctx, err)
	}
	return found.result(func(float64) *ranking.Plan { return p })
}

// oldFor is how long the store assumes that the live index has the older schema.
const oldFor = 5 * time.Second

// ask sends a request body for the schema of the live index. Schemas store terms in different fields, so it uses an
// alias that only a live index of that schema has. If there is no such alias, the other schema is tried. Aliases are
// switched at once: if both are missing, the switch took place between the two requests, and a third one succeeds.
func (s *Store) ask(ctx context.Context, l *look, request func(*look) []byte) (found answer, err error) {
	now := s.clock.Now()
	to := *l
	to.old = now.UnixNano() < s.old.Load()
	for range 3 {
		schema := userindex.Schema
		if to.old {
			schema = userindex.OldSchema
		}
		found, err = s.send(ctx, l.scope, userindex.Reader(s.cfg.Alias, schema), request(&to))
		if !elastic.IsStatus(err, http.StatusNotFound) {
			return found, err
		}
		to.old = !to.old
		s.remember(to.old, now)
	}
	return found, err
}

// remember stores the schema of the live index.
func (s *Store) remember(old bool, now time.Time) {
	until := int64(0)
	if old {
		until = now.Add(oldFor).UnixNano()
	}
	s.old.Store(until)
}

// engineTime returns the time limit for the engine: 90 % of the remaining time, which leaves time to read the response.
func engineTime(ctx context.Context) time.Duration {
	deadline, _ := ctx.Deadline() // set by searchBy
	return time.Until(deadline) * 9 / 10
}
