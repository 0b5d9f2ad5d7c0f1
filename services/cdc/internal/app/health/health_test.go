package health_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/labplatform/labplatform/services/cdc/internal/app/health"
	"github.com/labplatform/labplatform/services/cdc/internal/broker"
	"github.com/labplatform/labplatform/services/cdc/internal/consume"
	"github.com/labplatform/labplatform/services/cdc/internal/outcome"
)

var now = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

func ago(d time.Duration) time.Time { return now.Add(-d) }

// situation holds all inputs of Health.
type situation struct {
	state      broker.State
	partitions []consume.Partition
	success    time.Time
	indexDown  bool
	stopping   bool
}

func (s situation) State() broker.State             { return s.state }
func (s situation) Partitions() []consume.Partition { return s.partitions }
func (s situation) LastSuccess() time.Time          { return s.success }
func (s situation) Ready() bool                     { return !s.indexDown && !s.stopping }
func (s situation) Reasons() []string               { return nil }

func (s situation) Notes() []string { return nil }

func (s situation) Dependencies() map[string]string {
	if s.indexDown {
		return map[string]string{"search_index": "down", "relational_database": "up"}
	}
	return map[string]string{"search_index": "up", "relational_database": "up"}
}
func (s situation) Now() time.Time { return now }

// well returns the situation of an idle member that has just fetched.
func well() situation {
	return situation{state: broker.State{Member: true, Since: ago(time.Hour), LastPoll: ago(300 * time.Millisecond), Claims: 1},
		partitions: []consume.Partition{{Topic: "lab.lab.billing", Partition: 2}}}
}

func TestHealthTellsIdleFromStuck(t *testing.T) {
	t.Parallel()
	cases := []struct {
		name          string
		change        func(*situation)
		health, ready int
		reason        string
	}{
		{"idle, and never had anything to do", func(*situation) {}, 200, 200, ""},
		{"working", func(s *situation) { s.partitions[0].Lag, s.success = 500, ago(2*time.Second) }, 200, 200, ""},
		{"a backlog and a member that has just joined", func(s *situation) { s.partitions[0].Lag, s.state.Since = 500, ago(10*time.Second) }, 200, 200, ""},
		{"a backlog without success", func(s *situation) { s.partitions[0].Lag, s.success = 500, ago(2*time.Minute) }, 200, 503, "500 records wait and none was processed for 120 s"},
		{"no fetch", func(s *situation) { s.state.LastPoll = ago(time.Minute) }, 503, 503, "no fetch for 60 s"},
		{"a batch that neither ends nor fails", func(s *situation) { s.partitions[0].Busy = 3 * time.Minute }, 503, 503, "lab.lab.billing/2: one batch for 180 s"},
		{"a retry that has just begun", func(s *situation) {
			s.partitions[0].Busy, s.partitions[0].Fault = 5*time.Second, &outcome.Fault{Err: errors.New("away")}
		}, 200, 200, ""},
		{"a retry that lasts", func(s *situation) {
			s.partitions[0].Busy, s.partitions[0].Fault = 5*time.Minute, &outcome.Fault{Err: errors.New("away")}
		}, 200, 503, "lab.lab.billing/2 has been tried for 300 s: away"},
		{"a partition that waits for a person", func(s *situation) {
			s.partitions[0].Fault = &outcome.Fault{Operator: true, Err: errors.New("1146"), Advice: "run cdc migrate"}
		}, 200, 503, "lab.lab.billing/2 is paused: 1146; run cdc migrate"},
		{"not a member", func(s *situation) { s.state.Member = false }, 200, 503, "not a member of the consumer group"},
		{"not allowed into the group", func(s *situation) {
			s.state.Member, s.state.Fault = false, &outcome.Fault{Operator: true, Err: errors.New("denied"), Advice: "set CDC_CONSUMER_GROUP"}
		}, 200, 503, "denied; set CDC_CONSUMER_GROUP"},
		{"a broker that moves", func(s *situation) { s.state.Fault = &outcome.Fault{Err: errors.New("not leader")} }, 200, 200, ""},
		{"an unavailable store", func(s *situation) { s.indexDown = true }, 200, 503, `"search_index is down"`},
		{"a process that stops", func(s *situation) { s.stopping = true }, 200, 503, `"the process is stopping"`},
	}
	for _, test := range cases {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			s := well()
			test.change(&s)
			mux := http.NewServeMux()
			(&health.Health{Group: s, Status: s, Stores: s, Clock: s, Phase: func(context.Context) string { return "running" }}).Handle(mux)
			live := 200 // a restart does not help when brokers are unavailable
			if strings.Contains(test.reason, "one batch") {
				live = 503
			}
			for path, want := range map[string]int{"/health": test.health, "/ready": test.ready, "/health/ready": test.ready, "/health/live": live} {
				answer := httptest.NewRecorder()
				mux.ServeHTTP(answer, httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, nil))
				if answer.Code != want {
					t.Errorf("%s: %d %s", path, answer.Code, answer.Body)
				}
				var body map[string]any
				if err := json.Unmarshal(answer.Body.Bytes(), &body); err != nil || body["status"] == "" {
					t.Errorf("%s: body %s", path, answer.Body)
				}
				if path == "/ready" && !strings.Contains(answer.Body.String(), test.reason) {
					t.Errorf("%s does not say %q: %s", path, test.reason, answer.Body)
				}
			}
		})
	}
}
