package reach_test

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/services/callout/internal/callout"
	"github.com/labplatform/labplatform/services/callout/internal/evaluate"
	"github.com/labplatform/labplatform/services/callout/internal/reach"
	"github.com/labplatform/labplatform/services/callout/internal/save"
	"github.com/labplatform/labplatform/services/callout/internal/store/storetest"
)

const (
	potassium = storetest.Potassium
	index     = storetest.PotassiumIndex
)

// delivered empties the outbox as the relay does: every notice is answered with the reason.
func delivered(b *storetest.Fixture, reason string) {
	b.T.Helper()
	lab := storetest.Lab(b.T, 12)
	b.Reach.Reason = reason
	events := b.Sent()
	b.Exec("DELETE FROM outbox_callout")
	for _, e := range events {
		if e.Kind != "notifications.notify" {
			continue
		}
		_, key, _ := strings.Cut(strings.Split(e.DedupeKey, "::")[0], ":") // the key is kind:report:statement::audience
		report, statement, _ := strings.Cut(key, ":")
		id, err := strconv.ParseInt(report, 10, 64)
		b.Must(err)
		b.Must(b.Reaching.Delivered(b.T.Context(), lab, callout.Message{ReportID: id, Key: statement}, reason, b.Clock.Now()))
	}
}

// switchedOn switches the type on and runs the next check.
func switchedOn(b *storetest.Fixture) {
	b.T.Helper()
	b.Reach.Reason = ""
	b.Must(b.Reaper.RunOnce(b.T.Context()))
}

// TestNoticesThatWereSwitchedOffAreSentOnceTheTypeIsOn: a value turns unclear, a rerun value waits for its
// confirmation, or a called value turns out to be wrong while the laboratory has the type switched off. The notice must
// be sent, once, when the type is on again, as that of a critical value is.
func TestNoticesThatWereSwitchedOffAreSentOnceTheTypeIsOn(t *testing.T) {
	t.Parallel()
	for kind, story := range map[string]struct{ begin, over func(*storetest.Fixture) }{
		"pending": {
			func(b *storetest.Fixture) { b.Enter(potassium, index, "7.9") },
			func(b *storetest.Fixture) { b.Enter(potassium, index, "4") },
		},
		"unclear": {
			func(b *storetest.Fixture) { b.Enter(potassium, index, "Haemolysed") },
			func(b *storetest.Fixture) { b.Enter(potassium, index, "4") },
		},
		"unconfirmed": {
			func(b *storetest.Fixture) { rerun(b, "7.9") },
			func(b *storetest.Fixture) { rerun(b) },
		},
		"corrected": {
			func(b *storetest.Fixture) {
				b.Enter(potassium, index, "7.9")
				b.Must(b.Record(save.Callout{ReportIDs: []int64{potassium}}))
				delivered(b, "")
				b.Enter(potassium, index, "4")
			},
			func(b *storetest.Fixture) { b.Enter(potassium, index, "7.9") },
		},
	} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			for _, after := range []string{"", "no_device"} {
				b := storetest.New(t)
				story.begin(b)
				b.Clock.Advance(31 * time.Minute)
				b.Must(b.Reaper.RunOnce(t.Context()))
				b.Want("the first notice", b.Notices()[0], kind)
				delivered(b, reach.TypeOff)
				b.Must(b.Reaper.RunOnce(t.Context()))
				b.Want("while the type is off", b.Notices(), "[]")
				if after != "" { // the notice of another report comes before the check
					b.Must(b.Reaching.Delivered(t.Context(), storetest.Lab(t, 12), callout.Message{ReportID: 1}, after, b.Clock.Now()))
				}
				b.Reach.Reason = after
				b.Must(b.Reaper.RunOnce(t.Context()))
				b.Want("the type is on", b.Notices(), "["+kind+"]")
				delivered(b, after)
				b.Must(b.Reaper.RunOnce(t.Context()))
				b.Want("sent before", b.Notices(), "[]")
			}
			b := storetest.New(t)
			story.begin(b)
			b.Clock.Advance(31 * time.Minute)
			b.Must(b.Reaper.RunOnce(t.Context()))
			delivered(b, reach.TypeOff)
			story.over(b)
			delivered(b, reach.TypeOff)
			switchedOn(b)
			if kind != "corrected" { // there, the value is critical again and announced
				b.Want("it is over", b.Notices(), "[]")
			}
		})
	}
}

func rerun(b *storetest.Fixture, values ...string) {
	b.T.Helper()
	u := evaluate.Unconfirmed{ReportID: potassium, AsOf: b.Clock.Now().UnixMicro(), ReceivedAt: b.Clock.Now().UnixMicro()}
	for _, value := range values {
		u.Readings = append(u.Readings, callout.Reading{ProfileTestID: 66, Index: index, Order: index, Name: "Potassium", Value: value})
	}
	b.Must(b.Evaluate.SetUnconfirmed(b.T.Context(), storetest.Lab(b.T, 12), u))
}

// TestANoticeOfAnUnconfirmedValueIsNotSentAfterItsEnd: the notice waits in the outbox, because the notification service
// is unavailable. It must not be sent once the value was confirmed or the report dismissed, and must be while a newer
// value waits.
func TestANoticeOfAnUnconfirmedValueIsNotSentAfterItsEnd(t *testing.T) {
	t.Parallel()
	b := storetest.New(t)
	rerun(b, "7.9")
	m := callout.Message{Kind: callout.TellUnconfirmed, ReportID: potassium, Key: "unconfirmed:1"}
	want := func(what string, want bool) {
		t.Helper()
		got, err := b.Reaching.ToSend(t.Context(), storetest.Lab(t, 12), m)
		b.Must(err)
		b.Want(what, got, want)
	}
	want("it waits", true)
	b.Clock.Advance(time.Minute)
	rerun(b, "8.3")
	want("a newer one waits", true)
	b.Dismiss(potassium)
	want("dismissed", false)
	b.Exec("UPDATE labReportRelation SET dismissed = 0")
	want("not dismissed", true)
	b.Clock.Advance(time.Minute)
	rerun(b)
	want("confirmed", false)
}

var errBroken = errors.New("broken")

// broken is a fake that cannot evaluate reports.
type broken struct{}

func (broken) Reports(context.Context, authn.LabScope, []int64, callout.Event) ([]evaluate.Result, error) {
	return nil, errBroken
}

// TestAReportThatCannotBeEvaluatedDoesNotKeepTheBoardsWarning: the type is on again, and the report whose notice was
// not sent cannot be evaluated at present. The board must not say that the type is off, and the report is tried again.
func TestAReportThatCannotBeEvaluatedDoesNotKeepTheBoardsWarning(t *testing.T) {
	t.Parallel()
	b := storetest.New(t)
	b.Enter(potassium, index, "7.9")
	delivered(b, reach.TypeOff)
	b.Reach.Reason = ""
	fails := reach.New(reach.Deps{
		Store: b.Store, Ledgers: b.Store, Client: b.Reach, Evaluator: broken{}, Signals: b.Count, Counters: b.Count, Clock: b.Clock,
	})
	if err := fails.RunOnce(t.Context()); !errors.Is(err, errBroken) {
		t.Fatalf("got %v, want %v", err, errBroken)
	}
	open, err := b.Worklist.Open(t.Context(), storetest.Lab(t, 12), storetest.Everything)
	b.Must(err)
	b.Want("the board's warning", open.Off.Reason, "")
	b.Must(b.Reaching.RunOnce(t.Context()))
	b.Want("tried again", b.Notices(), "[pending]")
}

// TestTheNoticesOfAllReportsAreSentAfterASharedEscalation: two results of a bill become critical while the laboratory
// has the type switched off, and one escalation is made for both. Once the type is on, both are announced. An
// escalation that was sent, to the laboratory only, does not replace the notice.
func TestTheNoticesOfAllReportsAreSentAfterASharedEscalation(t *testing.T) {
	t.Parallel()
	for _, escalated := range []string{reach.TypeOff, ""} {
		b := storetest.New(t)
		b.SetValue(potassium, index, "7.1")
		b.SetValue(storetest.Count, storetest.CountIndex, "5")
		b.Judged(12, potassium, storetest.Count)
		delivered(b, reach.TypeOff)
		b.Clock.Advance(31 * time.Minute)
		b.Must(b.Reaper.RunOnce(t.Context()))
		b.Want("one escalation for both", b.Notices(), "[escalation]")
		delivered(b, escalated)
		switchedOn(b)
		b.Want("the type is on", b.Notices(), "[pending pending]")
	}
}

// TestAValueThatReturnsAfterTheTypeIsOnIsAnnounced: the type was off when 7.9 became critical, and is on again while
// the analyser gives "Haemolysed". When 7.9 returns, its notice is sent.
func TestAValueThatReturnsAfterTheTypeIsOnIsAnnounced(t *testing.T) {
	t.Parallel()
	b := storetest.New(t)
	b.Enter(potassium, index, "7.9")
	delivered(b, reach.TypeOff)
	b.Enter(potassium, index, "Haemolysed")
	switchedOn(b)
	b.Want("while it is unreadable", b.Notices(), "[]")
	b.Enter(potassium, index, "7.9")
	b.Must(b.Reaper.RunOnce(t.Context()))
	b.Want("it is back", b.Notices(), "[pending]")
	delivered(b, "")
	b.Must(b.Reaper.RunOnce(t.Context()))
	b.Want("sent before", b.Notices(), "[]")
}

// TestTheCorrectionOfAReadNoticeIsSentOnceTheTypeIsOn: the correction of several notices has a common key; the one that
// was not sent is found by its notice.
func TestTheCorrectionOfAReadNoticeIsSentOnceTheTypeIsOn(t *testing.T) {
	t.Parallel()
	b := storetest.New(t)
	b.Enter(potassium, index, "7.9")
	b.Clock.Advance(time.Minute)
	b.Enter(potassium, index, "4")
	delivered(b, "")
	unsent := callout.Message{Kind: callout.Correct, ReportID: potassium, Key: "correction:9", Notice: "notice:1"}
	b.Must(b.Reaching.Delivered(t.Context(), storetest.Lab(t, 12), unsent, reach.TypeOff, b.Clock.Now()))
	b.Must(b.Reaper.RunOnce(t.Context()))
	b.Want("the type is on", b.Notices(), "[corrected]")
}
