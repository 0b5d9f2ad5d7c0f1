package route

import (
	"context"
	"encoding/json"
	"errors"
	"testing"

	"github.com/labplatform/labplatform/services/taskqueue/internal/job"
)

type source struct {
	rows []Row
	err  error
}

func (s *source) Providers(context.Context) ([]Row, error) { return s.rows, s.err }

func TestTheSetFollowsItsSourceAndKeepsTheLastGoodState(t *testing.T) {
	t.Parallel()
	b := newFixture(false)
	s := &source{err: errors.New("away")}
	if err := b.set.Load(t.Context(), s); err == nil || b.set.known() != nil {
		t.Fatalf("loaded from a source that is away: %v", err)
	}
	s.err, s.rows = nil, []Row{{ID: 1, Channel: "sms", Provider: "a", Settings: json.RawMessage(`{}`)}}
	for range 3 {
		if err := b.set.Load(t.Context(), s); err != nil || !b.set.Known(job.SMS, "a") || b.made != 1 {
			t.Fatalf("%d made, %v", b.made, err)
		}
	}
	b.broken["b"] = true
	s.rows = []Row{{ID: 2, Channel: "sms", Provider: "b", Settings: json.RawMessage(`{}`)}}
	for range 2 {
		if err := b.set.Load(t.Context(), s); err == nil || !b.set.Known(job.SMS, "a") {
			t.Fatalf("a wrong row was taken: %v", err)
		}
	}
	b.broken["b"] = false // the secret has come
	if err := b.set.Load(t.Context(), s); err != nil || !b.set.Known(job.SMS, "b") || b.set.Known(job.SMS, "a") {
		t.Fatal(err)
	}
}
