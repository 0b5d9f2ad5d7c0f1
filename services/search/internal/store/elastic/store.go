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

// Store is the index of patients, to be read. Safe for concurrent use.
type Store struct {
	client  *elastic.Client
	cfg     Config
	clock   clock.Clock
	compile ranking.Compiler
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
		compile: ranking.Compiler{Codes: cfg.PhoneCountryCodes},
	}
}

// Search answers q within scope. When few are found and effort allows it, a second request looks for names that sound
// alike or have typing errors, below the patients who were found; and when no one was, a third one for names with two
// errors. A text that will hardly be found ten times is asked for in both ways at once.
// Whether that happens does not depend on the page that is asked for. When a further request fails, what the first one
// found is an answer in part. Errors: Unavailable when the index is down, overloaded or missing, DeadlineExceeded when
// it is too slow, Canceled; they hold neither the text nor what the engine says about it.
func (s *Store) Search(
	ctx context.Context, scope search.Scope, q search.Query, effort search.Effort,
) (search.Result, error) {
	return s.searchBy(ctx, scope, q, effort, s.find)
}

// asker asks for the plans of a look.
type asker func(ctx context.Context, l *look, effort search.Effort) (search.Result, error)

// searchBy searches by ask, within the service's limit of time, and says where the next page begins.
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
	// Both at once need the first page: behind that, no one knows how many hits of the first plan stand before.
	if q.From == 0 && q.After == nil && ranking.IsSeldom(q.Text) {
		if second, ok := s.compile.Second(ranking.Plan{}, q.Text, q.Fields, effort); ok {
			return s.combined(ctx, s.compile.First(q.Text, q.Fields, effort), second, l)
		}
	}
	return s.inTurn(ctx, l, effort)
}

// inTurn asks for the plans one after the other, for a further one only when the one before found few.
func (s *Store) inTurn(ctx context.Context, l *look, effort search.Effort) (search.Result, error) {
	first := s.compile.First(l.page.Text, l.page.Fields, effort)
	result, err := s.run(ctx, &first, l)
	if err != nil || result.Partial || result.Total >= enough {
		return result, err
	}
	return s.further(ctx, first, l, effort, result)
}

// lenient looks for most of what a text says, below those whom the searches before found: when they found no one, or
// the text says more than they asked for, and is no identifier as a whole. When it fails, what they found is an answer
// in part.
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

// isWhole reports whether the first hit of all pages has the text as an identifier.
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

// origin is from when recency is counted: for all pages of one look from when the first one was asked for.
func (s *Store) origin(q search.Query) time.Time {
	if q.After != nil {
		return q.After.Origin
	}
	return s.clock.Now().Truncate(time.Hour)
}

// enough are the hits of a first request that make a second one unnecessary.
const enough = 10

// further looks for names that are like the text, below those whom the first request found.
func (s *Store) further(
	ctx context.Context, first ranking.Plan, l *look, effort search.Effort, result search.Result,
) (search.Result, error) {
	all := result.Total == int64(len(result.Hits)) // on the page: they need not be found again
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
		again.ByBucket = withRest(result.ByBucket, again.Total) // a name that is like the text adds patients alone
		return again, nil
	case len(result.Hits) > 0 && !errors.Is(err, errCanceled):
		result.Partial = true
		return result, nil
	}
	return again, err
}

// furthest looks for names with two errors, when no one was found: it is the dearest search.
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

// run makes a search and counts what it found. Hits that cannot be counted are an answer in part.
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

// search sends a plan. A plan without a way to find anything needs no engine.
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

// oldFor is how long it is remembered that the live index is of the older schema.
const oldFor = 5 * time.Second

// ask sends what request makes, by the alias that only a live index of the schema has that it is made for: the schemas
// hold terms in other places. A swap moves that alias together with the live one, so a look that finds neither came
// before it with the one, and after it with the other.
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

// remember notes of which schema the live index is.
func (s *Store) remember(old bool, now time.Time) {
	until := int64(0)
	if old {
		until = now.Add(oldFor).UnixNano()
	}
	s.old.Store(until)
}

// engineTime is how long the engine may work: enough less than we wait to read its answer.
func engineTime(ctx context.Context) time.Duration {
	deadline, _ := ctx.Deadline() // Search sets one
	return time.Until(deadline) * 9 / 10
}
