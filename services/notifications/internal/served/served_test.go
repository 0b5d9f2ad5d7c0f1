package served_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/labplatform/labplatform/services/notifications/internal/served"
)

type queue struct {
	reason served.Reason
	labs   []int64
	err    error
}

func (q *queue) Unserved(context.Context) (served.Reason, []int64, error) {
	return q.reason, q.labs, q.err
}

type shown struct {
	reasons []served.Reason
	note    string
}

func (s *shown) PushUnserved(r served.Reason) { s.reasons = append(s.reasons, r) }
func (s *shown) Note(text string)             { s.note = text }

func TestPushesThatWaitForAProviderAreShownUntilThereIsOne(t *testing.T) {
	t.Parallel()
	q, s := &queue{}, &shown{}
	p := served.New(q, s)
	for _, step := range []struct {
		queue queue
		waits bool
		note  string
	}{
		{queue{err: errors.New("away")}, false, ""}, // unknown, so messages count as delivered
		{queue{reason: served.NoProvider}, true, "tq_provider"},
		{queue{err: errors.New("away")}, true, "tq_provider"}, // the known state stays
		{queue{reason: served.ProviderOut}, true, "taskqueue providers"},
		{queue{reason: served.Paused}, true, "taskqueue resume"},
		{queue{}, false, ""},
	} {
		*q = step.queue
		if err := p.RunOnce(t.Context()); err != nil {
			t.Fatal(err)
		}
		if p.Waits() != step.waits || p.Held() != (step.queue.reason == served.Paused) || (s.note == "") != (step.note == "") || !strings.Contains(s.note, step.note) {
			t.Errorf("%+v: waits %t, note %q; want %t and %q", step.queue, p.Waits(), s.note, step.waits, step.note)
		}
	}
	if want := []served.Reason{"", served.NoProvider, served.ProviderOut, served.Paused, ""}; !slices.Equal(s.reasons, want) {
		t.Errorf("reasons shown = %q, want %q", s.reasons, want)
	}
}

func TestALaboratoryThatAnOperatorPausesWaitsAlone(t *testing.T) {
	t.Parallel()
	q, s := &queue{labs: []int64{12}}, &shown{}
	p := served.New(q, s)
	for _, step := range []struct{ labs []int64 }{{[]int64{12}}, {nil}} {
		q.labs = step.labs
		if err := p.RunOnce(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got, want := p.WaitsFor(12), len(step.labs) > 0; got != want || p.WaitsFor(13) || p.Waits() {
			t.Errorf("paused %v: 12 waits %t, 13 %t, all %t; want %t alone", step.labs, got, p.WaitsFor(13), p.Waits(), want)
		}
	}
}

func TestPushesThatAreOffAreShownAndDoNotWait(t *testing.T) {
	t.Parallel()
	s := &shown{}
	if p := served.Disabled(s); p.Waits() || !strings.Contains(s.note, "PUSH_PROVIDER") || !slices.Equal(s.reasons, []served.Reason{served.Off}) {
		t.Errorf("waits %t, reasons %q, note %q; want off, shown", p.Waits(), s.reasons, s.note)
	}
}
