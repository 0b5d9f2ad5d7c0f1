package limit_test

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/labplatform/labplatform/pkg/apperr"
	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/pkg/clock"
	"github.com/labplatform/labplatform/pkg/config"
	"github.com/labplatform/labplatform/pkg/ratelimit"
	"github.com/labplatform/labplatform/services/search/internal/limit"
	"github.com/labplatform/labplatform/services/search/internal/search"
)

// setting is a fake reader with the mode set by an operator, or the error of an unavailable cache.
type setting struct {
	mu   sync.Mutex // guards the following fields
	text string
	err  error
}

func (s *setting) Mode(context.Context) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text, s.err
}

func (s *setting) set(text string, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.text, s.err = text, err
}

// fixture is a limit that counts in memory, with a watch that reads setting.
type fixture struct {
	limit    *limit.Limit
	watch    *limit.Watch
	setting  *setting
	registry *prometheus.Registry
	log      strings.Builder
}

func setup(t *testing.T) *fixture {
	t.Helper()
	b := &fixture{setting: &setting{}, registry: prometheus.NewRegistry()}
	metrics := limit.NewMetrics(b.registry)
	b.watch = limit.NewWatch(limit.WatchDeps{
		Reader: b.setting, Every: 5 * time.Second, Clock: clock.System{}, Log: slog.New(slog.NewTextHandler(&b.log, nil)), Metrics: metrics,
	})
	b.limit = limit.New(limit.Deps{
		Config:  limit.Config{PerMinute: 120, DegradedPerMinute: 30, EmergencyPerMinute: 5, ReadsPerMinute: 300, ConfigCacheTTL: 5},
		Counter: ratelimit.NewLocal(clock.System{}), Watch: b.watch, Metrics: metrics,
	})
	return b
}

// admitted searches until a search is rejected, and returns the number of admitted searches.
func (b *fixture) admitted(t *testing.T, p authn.Principal, lab int64) (int, search.Effort, *apperr.Error) {
	t.Helper()
	scope, err := p.Scope(lab)
	if err != nil {
		t.Fatal(err)
	}
	last := search.Effort(-1)
	for n := range 1000 {
		effort, err := b.limit.Admit(t.Context(), p, scope)
		if err != nil {
			refusal, _ := apperr.From(err)
			return n, last, refusal
		}
		last = effort
	}
	t.Fatal("nothing is refused")
	return 0, 0, nil
}

var asha = authn.Principal{Kind: authn.Session, SessionType: authn.LabUser, LabID: 12, LabUserID: 77}

func TestAModeSetsHowManyAndHowCostlySearchesAre(t *testing.T) {
	t.Parallel()
	cases := []struct {
		mode   string
		many   int
		effort search.Effort
	}{
		{"", 120, search.Full}, {"normal", 120, search.Full}, {"degraded", 30, search.Reduced}, {" emergency\n", 5, search.Least},
	}
	for _, c := range cases {
		t.Run(c.mode, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				b := setup(t)
				b.setting.set(c.mode, nil)
				b.watch.RunOnce(t.Context())
				many, effort, refusal := b.admitted(t, asha, 0)
				if many != c.many || effort != c.effort {
					t.Fatalf("%d searches at effort %d, want %d at %d", many, effort, c.many, c.effort)
				}
				if refusal.Kind != apperr.TooManyRequests || refusal.RetryAfter != time.Minute {
					t.Fatalf("refused with %+v", refusal)
				}
				time.Sleep(refusal.RetryAfter)
				if many, _, _ = b.admitted(t, asha, 0); many != c.many {
					t.Fatalf("a minute later %d searches", many)
				}
			})
		})
	}
}

func TestEveryoneHasALimitOfTheirOwn(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.setting.set("emergency", nil)
	b.watch.RunOnce(t.Context())
	bearer := asha
	bearer.Kind = authn.Bearer
	cases := []struct {
		name string
		p    authn.Principal
		lab  int64
		want int
	}{
		{"a lab user", asha, 0, 5},
		{"the same by a token", bearer, 0, 0},
		{"a namesake of another laboratory", authn.Principal{Kind: authn.Session, LabID: 13, LabUserID: 77}, 0, 5},
		{"a doctor with the same number", authn.Principal{Kind: authn.Session, SessionType: authn.Doctor, LabID: 12, DoctorID: 77}, 0, 5},
		{"support with the same number", authn.Principal{Kind: authn.Session, SessionType: authn.Support, LabID: 12, LabUserID: 77}, 0, 5},
		{"an organization", authn.Principal{Kind: authn.Session, SessionType: authn.Organization, LabID: 12, OrgID: 77, Username: "asha"}, 0, 5},
		{"another login of the organization", authn.Principal{Kind: authn.Session, SessionType: authn.Organization, LabID: 12, OrgID: 77, Username: "ravi"}, 0, 5},
		{"the first of them by a token", authn.Principal{Kind: authn.Bearer, SessionType: authn.Organization, LabID: 12, OrgID: 77, Username: "asha"}, 0, 0},
		{"a centre", authn.Principal{Kind: authn.Session, SessionType: authn.CollectionCenter, LabID: 12, CCID: 77}, 0, 5},
		{"an instrument", authn.Principal{Kind: authn.Bearer, LabID: 12}, 0, 5},
		{"a service", authn.Principal{Kind: authn.Service, Caller: "rerun"}, 12, 5},
		{"another service", authn.Principal{Kind: authn.Service, Caller: "callout"}, 12, 5},
		{"a service in another laboratory", authn.Principal{Kind: authn.Service, Caller: "rerun"}, 13, 5},
	}
	for _, c := range cases {
		if many, _, _ := b.admitted(t, c.p, c.lab); many != c.want {
			t.Errorf("%s: %d searches, want %d", c.name, many, c.want)
		}
	}
}

func TestTheLastModeHoldsForAMinuteWhenNoneCanBeRead(t *testing.T) {
	t.Parallel()
	for name, broken := range map[string]*setting{
		"unreachable":   {err: errors.New("connection refused")},
		"unknown_value": {text: "emergancy"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				b := setup(t)
				b.setting.set("degraded", nil)
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				go func() { _ = b.watch.Run(ctx) }()
				synctest.Wait()
				expect := func(want limit.Mode) {
					t.Helper()
					synctest.Wait()
					if got := b.watch.Mode(); got != want {
						t.Fatalf("mode %s, want %s", got, want)
					}
				}
				expect(limit.Degraded)
				b.setting.set(broken.text, broken.err)
				time.Sleep(59 * time.Second)
				expect(limit.Degraded)
				time.Sleep(time.Second)
				expect(limit.Normal)
				b.setting.set("emergency", nil)
				time.Sleep(5 * time.Second)
				expect(limit.Emergency)
				if told := strings.Count(b.log.String(), "cannot be read"); told != 1 {
					t.Errorf("the log tells %d times", told)
				}
				if n := testutil.CollectAndCount(b.registry, "search_rate_limit_mode_unread_total"); n != 2 {
					t.Errorf("%d causes are counted", n)
				}
				if err := testutil.GatherAndCompare(b.registry, strings.NewReader(`
# HELP search_rate_limit_mode 1 for the present mode, 0 for the others.
# TYPE search_rate_limit_mode gauge
search_rate_limit_mode{mode="degraded"} 0
search_rate_limit_mode{mode="emergency"} 1
search_rate_limit_mode{mode="normal"} 0
`), "search_rate_limit_mode"); err != nil {
					t.Error(err)
				}
			})
		})
	}
}

func TestWithoutACacheTheModeIsNormal(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		metrics := limit.NewMetrics(prometheus.NewRegistry())
		watch := limit.NewWatch(limit.WatchDeps{Every: time.Second, Clock: clock.System{}, Log: slog.New(slog.DiscardHandler), Metrics: metrics})
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		if err := watch.Run(ctx); err != nil || watch.Mode() != limit.Normal {
			t.Fatalf("got %s, %v, want limit.Normal", watch.Mode(), err)
		}
	})
}

func TestSettingsThatMakeNoSenseAreRefused(t *testing.T) {
	t.Parallel()
	good := limit.Config{PerMinute: 120, DegradedPerMinute: 30, EmergencyPerMinute: 5, ReadsPerMinute: 300, ConfigCacheTTL: 5, KVURL: "redis://cache:6379"}
	if err := good.Validate(); err != nil {
		t.Fatal(err)
	}
	for name, spoil := range map[string]func(*limit.Config){
		"READS_PER_MINUTE":     func(c *limit.Config) { c.ReadsPerMinute = 0 },
		"EMERGENCY_PER_MINUTE": func(c *limit.Config) { c.EmergencyPerMinute = 0 },
		"CONFIG_CACHE_TTL":     func(c *limit.Config) { c.ConfigCacheTTL = 0 },
		"KV_URL":               func(c *limit.Config) { c.KVURL = config.Secret("cache:6379") },
	} {
		bad := good
		spoil(&bad)
		if err := bad.Validate(); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestALoginCannotReadAWholeLaboratory opens patients one after the other by their consecutive ids. The reads must be
// stopped, while searches of the same person are still admitted.
func TestALoginCannotReadAWholeLaboratory(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := setup(t)
		scope, err := asha.Scope(0)
		if err != nil {
			t.Fatal(err)
		}
		for n := range 300 {
			if err := b.limit.AdmitRead(t.Context(), asha, scope); err != nil {
				t.Fatalf("patient %d: %v", n+1, err)
			}
		}
		refusal, ok := apperr.From(b.limit.AdmitRead(t.Context(), asha, scope))
		if !ok || refusal.Kind != apperr.TooManyRequests || refusal.RetryAfter <= 0 {
			t.Errorf("the next one: %+v", refusal)
		}
		if many, _, _ := b.admitted(t, asha, 0); many != 120 {
			t.Errorf("%d searches beside it", many)
		}
		time.Sleep(time.Minute)
		if err := b.limit.AdmitRead(t.Context(), asha, scope); err != nil {
			t.Errorf("a minute later: %v", err)
		}
	})
}
