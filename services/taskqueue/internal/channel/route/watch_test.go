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

func TestTheSetFollowsItsSourceAndKeepsWhatItReadWhenItIsAway(t *testing.T) {
	t.Parallel()
	b := newFixture(false)
	s := &source{err: errors.New("away")}
	if err := b.set.Load(t.Context(), s); err == nil || b.set.known() != nil {
		t.Fatalf("got no error from an unavailable source: %v", err)
	}
	s.err, s.rows = nil, []Row{{ID: 1, Channel: "sms", Provider: "a", Settings: json.RawMessage(`{}`)}}
	for range 3 {
		if err := b.set.Load(t.Context(), s); err != nil || !b.set.Known(job.SMS, "a") || b.seen.counts["sms/a"] != 1 {
			t.Fatalf("configured %v, %v", b.seen.counts, err)
		}
	}
	s.err = errors.New("away again")
	if err := b.set.Load(t.Context(), s); err == nil || !b.set.Known(job.SMS, "a") {
		t.Fatalf("the last state was forgotten: %v", err)
	}
}
