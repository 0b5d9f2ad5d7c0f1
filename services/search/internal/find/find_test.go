package find_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/labplatform/labplatform/pkg/apperr"
	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/pkg/clock"
	"github.com/labplatform/labplatform/pkg/lab/sight"
	"github.com/labplatform/labplatform/services/search/internal/find"
	"github.com/labplatform/labplatform/services/search/internal/search"
)

// limiter is a fake that admits searches with one effort, or rejects them.
type limiter struct {
	effort search.Effort
	err    error
	asked  int
}

func (l *limiter) Admit(context.Context, authn.Principal, authn.LabScope) (search.Effort, error) {
	l.asked++
	return l.effort, l.err
}

// index is a fake that returns the same result for every search and records the queries.
type index struct {
	result search.Result
	err    error

	asked  int
	scope  search.Scope
	query  search.Query
	effort search.Effort
}

func (i *index) Search(_ context.Context, s search.Scope, q search.Query, e search.Effort) (search.Result, error) {
	i.asked++
	i.scope, i.query, i.effort = s, q, e
	return i.result, i.err
}

// own is a fake that removes all bills but the last.
type own struct{}

func (own) Own(_ context.Context, _ sight.Sight, patients []*search.Person) error {
	for _, p := range patients {
		p.BillIDs = []int64{302}
	}
	return nil
}

type fixture struct {
	limiter  *limiter
	index    *index
	registry *prometheus.Registry
	useCase  *find.UseCase
}

func setup(t *testing.T) *fixture {
	t.Helper()
	b := &fixture{limiter: &limiter{}, index: &index{}, registry: prometheus.NewRegistry()}
	metrics := find.NewMetrics(b.registry)
	b.useCase = find.New(find.Deps{Limiter: b.limiter, Index: b.index, Numbers: own{}, DefaultSize: 10, Clock: clock.System{}, Metrics: metrics})
	return b
}

// value returns the value of a counter, or the number of observations of a histogram.
func (b *fixture) value(t *testing.T, name string, labels map[string]string) float64 {
	t.Helper()
	families, err := b.registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, family := range families {
		for _, m := range family.GetMetric() {
			got := map[string]string{}
			for _, l := range m.GetLabel() {
				got[l.GetName()] = l.GetValue()
			}
			if family.GetName() == name && cmp.Equal(got, labels) {
				return m.GetCounter().GetValue() + float64(m.GetHistogram().GetSampleCount())
			}
		}
	}
	t.Fatalf("there is no %s%v", name, labels)
	return 0
}

var (
	asha = authn.Principal{Kind: authn.Session, SessionType: authn.LabUser, LabID: 12, LabUserID: 77}
	org  = authn.Principal{Kind: authn.Session, SessionType: authn.Organization, LabID: 12, OrgID: 45, BranchID: 3}
)

func ptr(n int) *int { return &n }

func TestASearchStaysInTheScopeOfTheLogin(t *testing.T) {
	t.Parallel()
	b := setup(t)
	if _, err := b.useCase.Search(t.Context(), org, find.Command{Request: search.Request{Query: "rahul"}, LabID: 12}); err != nil {
		t.Fatal(err)
	}
	s := b.index.scope
	if s.Lab.LabID() != 12 || s.OrgID != 45 || s.BranchID != 3 || s.CCID != 0 {
		t.Fatalf("searched in %+v", s)
	}
}

func TestWhatIsRefusedNeverReachesTheIndex(t *testing.T) {
	t.Parallel()
	tooMany := apperr.New(apperr.TooManyRequests, "TOO_MANY_SEARCHES", "wait").WithRetryAfter(time.Second)
	cases := map[string]struct {
		principal authn.Principal
		command   find.Command
		limit     error
		want      apperr.Kind
		key       string
		outcome   string
		counted   int // attempts counted by the limit
	}{
		"another laboratory":            {asha, find.Command{Request: search.Request{Query: "ab"}, LabID: 13}, nil, apperr.Invalid, "all", "invalid", 0},
		"a service without laboratory":  {authn.Principal{Kind: authn.Service}, find.Command{Request: search.Request{Query: "ab"}}, nil, apperr.Invalid, "all", "invalid", 0},
		"an organization without an id": {authn.Principal{Kind: authn.Session, SessionType: authn.Organization, LabID: 12}, find.Command{Request: search.Request{Query: "ab"}}, nil, apperr.Forbidden, "all", "forbidden", 0},
		"a referring doctor":            {authn.Principal{Kind: authn.Session, SessionType: authn.Doctor, LabID: 12, DoctorID: 301, DocType: ptr(2)}, find.Command{Request: search.Request{Query: "ab"}}, nil, apperr.Forbidden, "all", "forbidden", 0},
		"too many":                      {asha, find.Command{Request: search.Request{Query: "ab", Key: "name"}}, tooMany, apperr.TooManyRequests, "name", "limited", 1},
		"an empty text":                 {asha, find.Command{Request: search.Request{Key: "bill"}}, nil, apperr.Invalid, "bill", "invalid", 1},
		"an unknown key":                {asha, find.Command{Request: search.Request{Query: "ab", Key: "rahul sharma"}}, nil, apperr.Invalid, "other", "invalid", 1},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			b.limiter.err = c.limit
			_, err := b.useCase.Search(t.Context(), c.principal, c.command)
			if !apperr.Is(err, c.want) || b.index.asked != 0 || b.limiter.asked != c.counted {
				t.Fatalf("%v; the index was asked %d times, the limiter %d", err, b.index.asked, b.limiter.asked)
			}
			if n := b.value(t, "search_queries_total", map[string]string{"key": c.key, "outcome": c.outcome}); n != 1 {
				t.Errorf("counted %v times", n)
			}
		})
	}
}

func TestTheEffortReachesTheIndexAndTheLeastEffortHasSmallPages(t *testing.T) {
	t.Parallel()
	cases := []struct {
		effort     search.Effort
		request    search.Request
		size, from int
		invalid    bool
	}{
		{search.Full, search.Request{Size: ptr(25), Page: ptr(3)}, 25, 50, false},
		{search.Reduced, search.Request{Size: ptr(100)}, 100, 0, false},
		{search.Least, search.Request{}, 10, 0, false},
		{search.Least, search.Request{Size: ptr(5), From: ptr(7)}, 5, 7, false},
		{search.Least, search.Request{Size: ptr(25), Page: ptr(3)}, 10, 20, false},
		{search.Least, search.Request{Size: ptr(25), From: ptr(50)}, 10, 50, false},
		{search.Least, search.Request{Size: ptr(101)}, 0, 0, true},
	}
	for i, c := range cases {
		b := setup(t)
		b.limiter.effort = c.effort
		c.request.Query = "rahul"
		answer, err := b.useCase.Search(t.Context(), asha, find.Command{Request: c.request})
		if (err != nil) != c.invalid {
			t.Errorf("case %d: %v", i, err)
		}
		if err != nil {
			continue
		}
		if q := b.index.query; q.Size != c.size || q.From != c.from || b.index.effort != c.effort {
			t.Errorf("case %d: searched %+v at effort %d", i, q, b.index.effort)
		}
		if answer.Query.Size != c.size || answer.Effort != c.effort {
			t.Errorf("case %d: answered %+v", i, answer)
		}
	}
}

func TestWhatWasFoundIsCounted(t *testing.T) {
	t.Parallel()
	b := setup(t)
	search1 := func(key string) {
		t.Helper()
		if _, err := b.useCase.Search(t.Context(), asha, find.Command{Request: search.Request{Query: "ab", Key: key}}); err != nil {
			t.Fatal(err)
		}
	}
	b.index.result = search.Result{Total: 3, Hits: []search.Hit{{Bucket: search.Patient}, {Bucket: search.Sample}, {Bucket: search.Sample}}}
	search1("")
	b.index.result = search.Result{Partial: true}
	search1("sample")
	for _, want := range []struct {
		name   string
		labels map[string]string
		value  float64
	}{
		{"search_queries_total", map[string]string{"key": "all", "outcome": "ok"}, 1},
		{"search_queries_total", map[string]string{"key": "sample", "outcome": "partial"}, 1},
		{"search_query_duration_seconds", map[string]string{"key": "all"}, 1},
		{"search_query_hits", map[string]string{"key": "sample"}, 1},
		{"search_zero_results_total", map[string]string{"key": "all"}, 0},
		{"search_zero_results_total", map[string]string{"key": "sample"}, 1},
		{"search_bucket_hits_total", map[string]string{"bucket": "patient"}, 1},
		{"search_bucket_hits_total", map[string]string{"bucket": "sample"}, 2},
	} {
		if got := b.value(t, want.name, want.labels); got != want.value {
			t.Errorf("%s%v is %v, want %v", want.name, want.labels, got, want.value)
		}
	}
}

func TestHowTheIndexFailsIsCounted(t *testing.T) {
	t.Parallel()
	for want, err := range map[string]error{
		"unavailable": apperr.New(apperr.Unavailable, "SEARCH_INDEX_DOWN", "away").WithCause(context.DeadlineExceeded),
		"timeout":     apperr.New(apperr.DeadlineExceeded, "SEARCH_TIMEOUT", "slow"),
		"canceled":    fmt.Errorf("search: %w", context.Canceled),
		"error":       errors.New("surprise"),
	} {
		b := setup(t)
		b.index.err = err
		if _, got := b.useCase.Search(t.Context(), asha, find.Command{Request: search.Request{Query: "ab"}}); !errors.Is(got, err) {
			t.Errorf("%s: the caller gets %v", want, got)
		}
		if n := b.value(t, "search_queries_total", map[string]string{"key": "all", "outcome": want}); n != 1 {
			t.Errorf("%s is counted %v times", want, n)
		}
		if n := b.value(t, "search_query_hits", map[string]string{"key": "all"}); n != 0 {
			t.Errorf("%s: the hits of a search that failed are counted", want)
		}
	}
}

func TestEverySeriesExistsFromTheStart(t *testing.T) {
	t.Parallel()
	b := setup(t)
	keys, buckets := len(search.Keys()), len(search.Buckets())
	for name, want := range map[string]int{
		"search_queries_total": (keys + 1) * 9, "search_query_duration_seconds": keys, "search_query_hits": keys,
		"search_zero_results_total": keys, "search_bucket_hits_total": buckets,
	} {
		if got, err := testutil.GatherAndCount(b.registry, name); err != nil || got != want {
			t.Errorf("%s: %d series, %v; want %d", name, got, err, want)
		}
	}
	problems, err := testutil.GatherAndLint(b.registry)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range problems {
		t.Errorf("%s: %s", p.Metric, p.Text)
	}
}

func TestPeopleFromOutsideSeeTheNumbersOfTheirOwnBills(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		login authn.Principal
		want  []int64
	}{
		"a lab user": {asha, []int64{301, 302}}, "an organization": {org, []int64{302}},
	} {
		b := setup(t)
		b.index.result.Hits = []search.Hit{{Person: search.Person{UserID: 501, BillIDs: []int64{301, 302}}}}
		a, err := b.useCase.Search(t.Context(), c.login, find.Command{Request: search.Request{Query: "rahul"}})
		if err != nil || !cmp.Equal(a.Hits[0].BillIDs, c.want) {
			t.Errorf("%s sees bills of %v, %v; want %v", name, a.Hits, err, c.want)
		}
	}
}
