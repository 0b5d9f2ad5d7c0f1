package reach_test

import (
	"context"
	"testing"
	"time"

	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/pkg/clock"
	"github.com/labplatform/labplatform/services/callout/internal/callout"
	"github.com/labplatform/labplatform/services/callout/internal/reach"
)

// kept is a fake store that records changes and signals.
type kept struct {
	reach.Store

	reason           string
	silenced, logged bool
	signals, off     int
}

func (k *kept) SetReach(_ context.Context, _ authn.LabScope, reason string, _ time.Time) error {
	k.reason = reason
	return nil
}

func (k *kept) MarkSilenced(_ context.Context, _ authn.LabScope, m reach.Missed) error {
	k.silenced, k.logged = true, m.Log != nil
	return nil
}

func (k *kept) Changed(context.Context, authn.LabScope) { k.signals++ }

func (k *kept) NoticeOff() { k.off++ }

// TestOnlyANoticeThatIsNeverSentIsMarked checks which outcomes mark a notice as not sent. One that is sent later must
// not be marked, or its result would be announced twice.
func TestOnlyANoticeThatIsNeverSentIsMarked(t *testing.T) {
	t.Parallel()
	lab, err := authn.Principal{Kind: authn.Service}.Scope(12)
	if err != nil {
		t.Fatal(err)
	}
	for reason, want := range map[string]kept{
		"":                {},
		reach.Unavailable: {signals: 1},
		reach.Waits:       {signals: 1},
		"no_device":       {signals: 1, silenced: true},
		"push_off":        {signals: 1, silenced: true},
		reach.TypeOff:     {signals: 1, silenced: true, logged: true, off: 1},
	} {
		got := kept{reason: "before"}
		u := reach.New(reach.Deps{Store: &got, Signals: &got, Counters: &got, Clock: clock.Fixed(time.Unix(0, 0))})
		if err := u.Delivered(t.Context(), lab, callout.Message{ReportID: 7, Key: "k"}, reason, time.Unix(0, 0)); err != nil {
			t.Fatal(err)
		}
		if want.reason = reason; got != want {
			t.Errorf("%q: %+v, want %+v", reason, got, want)
		}
	}
}
