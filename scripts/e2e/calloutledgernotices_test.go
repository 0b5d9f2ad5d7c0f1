package e2e

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/labplatform/labplatform/pkg/testkit/await"
)

func ledgerNoticeThatWasRead(t *testing.T) {
	s := fresh(t, "7.9")
	s.reads(drNorth)
	s.becomes("4.2")
	s.want(isNormal)
	s.inbox(drNorth, noticeTitle, correctedTitle)
	s.inbox(inNorth, noticeTitle, correctedTitle)
	s.logged("withdrawn before a callout", map[string]any{"withdrawn": true, "reason": "not_critical"})
	for _, n := range inboxOf(t, drNorth) {
		if m := n["message"].(map[string]any); m["title"] == correctedTitle && strings.Contains(m["body"].(string), "called") {
			t.Errorf("the text claims a call: %v", m)
		}
	}
	unread := fresh(t, "7.9")
	unread.delivered()
	unread.becomes("4.2")
	unread.inbox(drNorth, withdrawnTitle)

	two := unseeded(t) // one of two critical values becomes normal
	two.seed("4.2")
	execSQL(t, "INSERT INTO reportValues (labReportId_id, reportForId_id, `index`, `order`, parameter_name, value) VALUES (?, ?, 1, 1, 'Sodium', '140')", two.report, two.report)
	execSQL(t, "UPDATE reportValues SET value = IF(`index` = 1, '118', '7.9') WHERE labReportId_id = ?", two.report) // the sweep never sees one alone
	two.judge()
	two.reads(inNorth)
	two.becomes("4.2")
	two.want(isPending)
	two.inbox(inNorth, noticeTitle, correctedTitle)
	if got := two.opened().Critical; len(got) != 1 || got[0].Raw != "118" {
		t.Errorf("it waits for %v", got)
	}
}

func ledgerWorseAfterTheLastEscalation(t *testing.T) {
	defer ledgerSettings(t, `{"escalate_minutes":1,"escalate_most":1,"remind_hours":8}`)()
	for _, attempt := range []bool{false, true} {
		s := fresh(t, "6.6")
		if attempt {
			s.saved(`"is_draft":true,"critical_callout_comment":"no answer"`, "CALLOUT_ATTEMPTED")
		}
		s.delivered()
		s.older(2)
		await.True(t, "the last escalation", func() bool { return s.opened().Escalations == 1 })
		if e := s.opened(); e.DueAt != nil || e.RemindAt == nil {
			t.Errorf("after the last escalation: %+v", e)
		}
		s.inbox(drNorth, noticeTitle)
		s.becomes("6.6")
		s.inbox(drNorth, noticeTitle)
		s.becomes("8.9")
		if e := s.opened(); e.DueAt == nil || e.Escalations != 0 {
			t.Errorf("a worse value: %+v", e)
		}
		s.inbox(drNorth, noticeTitle, noticeTitle)
		s.becomes("8.5") // a milder value causes no notice
		s.inbox(drNorth, noticeTitle, noticeTitle)
	}
}

func ledgerNoOneCanBeNotified(t *testing.T) {
	execSQL(t, "DELETE FROM FcmDevices WHERE lab_id = 41")
	s := fresh(t, "7.9")
	s.inbox(drNorth, noticeTitle)
	off := func(want string) {
		t.Helper()
		await.Nil(t, "the board's reason "+want, func() error {
			b := boardOf(t, ledgerUser)
			if b.Off == nil && want != "" || b.Off != nil && (b.Off.Reason != want || b.Off.Since == "") {
				return fmt.Errorf("%+v", b.Off)
			}
			return nil
		})
	}
	off("no_device")
	switched := func(off bool) {
		t.Helper()
		body := fmt.Sprintf(`{"notification_types":[{"id":2,"is_disabled":%t}]}`, off)
		if got := call(t, ledgerAdmin, "POST", notificationsPath+"notification-type/bulk", body); got.status != http.StatusOK {
			t.Fatalf("got %d %s, want status 200", got.status, got.body)
		}
	}
	s.called()
	silent := fresh(t, "7.9")
	switched(true)
	defer switched(false)
	s.becomes("4.2")
	off("type_off")
	swallowed := fresh(t, "7.8")
	swallowed.inbox(drNorth)
	await.True(t, "the mark of a report without notice", func() bool { return swallowed.opened().NoticesOff })
	swallowed.logged("was not sent", map[string]any{"not_sent": true})
	s.inbox(drNorth, withdrawnTitle)
	if e := s.find(boardOf(t, ledgerUser).Corrected); e == nil || e.NoticeSent {
		t.Errorf("the correction on the board: %+v, want one that was not sent", e)
	}
	switched(false)
	off("no_device")
	await.True(t, "the swallowed notice is sent", func() bool { return slices.Equal(swallowed.titles(drNorth), []string{noticeTitle}) })
	if got := call(t, ledgerUser, "POST", notificationsPath+"fcm/topic/subscribe", `{"token":"ledger-device","platform":"web"}`); got.status != http.StatusOK {
		t.Fatalf("subscribe: %d %s", got.status, got.body)
	}
	off("")
	silent.inbox(drNorth, noticeTitle) // it was in the inbox before
	await.True(t, "no report is without notice", func() bool { return !swallowed.opened().NoticesOff && !silent.opened().NoticesOff })
}

func ledgerUnconfirmedRerunValue(t *testing.T) {
	for _, end := range []string{"confirm", "abort"} {
		s := fresh(t, "5.9")
		s.requestRerun()
		s.measured("8.9")
		await.True(t, "the unconfirmed value", func() bool { return s.find(boardOf(t, ledgerUser).Unconfirmed) != nil })
		s.judge()
		s.onBoard("unconfirmed")
		s.inbox(ledgerUser)
		s.older(31)
		await.True(t, "the laboratory is told", func() bool { return slices.Equal(s.titles(ledgerUser), []string{unconfirmedTitle}) })
		s.inbox(drNorth)
		s.inbox(inNorth)
		reaped(t)
		s.inbox(ledgerUser, unconfirmedTitle)
		if end == "confirm" {
			s.confirmed("8.9")
			s.awaits("the confirmed value is critical", isPending)
			await.True(t, "it is confirmed", func() bool { return s.find(boardOf(t, ledgerUser).Unconfirmed) == nil })
			s.onBoard("open")
			s.inbox(drNorth, noticeTitle)
			continue
		}
		s.rerun("abort", `{}`)
		await.True(t, "it is aborted", func() bool { return s.find(boardOf(t, ledgerUser).Unconfirmed) == nil })
		s.onBoard()
	}
}

func ledgerShorterDeadline(t *testing.T) {
	defer ledgerSettings(t, `{"escalate_minutes":1440}`)()
	s := fresh(t, "7.9")
	due := func() time.Duration {
		at, err := time.Parse(time.RFC3339, *s.opened().DueAt)
		if err != nil {
			t.Fatal(err)
		}
		return time.Until(at)
	}
	if d := due(); d < 23*time.Hour {
		t.Errorf("due in %v", d)
	}
	defer ledgerSettings(t, `{"escalate_minutes":5}`)()
	await.True(t, "it is due in five minutes", func() bool { return due() <= 5*time.Minute+time.Second })
}

// stopNotifications stops the service until back is called.
func stopNotifications(t *testing.T) (back func()) {
	t.Helper()
	if err := stack.Stop("notifications"); err != nil {
		t.Fatal(err)
	}
	there := false
	back = func() {
		if !there {
			there = true
			startReached(t, "notifications", nil)
		}
	}
	return back
}

func ledgerDelayedNotices(t *testing.T) {
	back := stopNotifications(t)
	defer back()
	called, corrected, waits := judged(t, "7.9"), judged(t, "7.9"), judged(t, "7.9")
	for _, s := range []story{called, corrected} {
		s.older(31)
		await.True(t, "an escalation", func() bool { return s.opened().Escalations == 1 })
	}
	called.called()
	corrected.becomes("4.2")
	back()
	waits.inbox(drNorth, noticeTitle)
	for _, s := range []story{called, corrected} {
		for _, session := range []string{drNorth, inNorth, ledgerUser} {
			s.inbox(session)
		}
	}
}

func ledgerNotificationsUnavailable(t *testing.T) {
	back := stopNotifications(t)
	defer back()
	begin := time.Now().Add(-time.Second).UTC().Format(time.RFC3339)
	s := judged(t, "7.9")
	await.Nil(t, "the reason on the board", func() error {
		if off := boardOf(t, ledgerUser).Off; off == nil || off.Reason != "unavailable" || off.Since < begin {
			return fmt.Errorf("%+v", off)
		}
		return nil
	})
	back()
	s.inbox(drNorth, noticeTitle)
	await.True(t, "the board says nothing any more", func() bool { return boardOf(t, ledgerUser).Off == nil })
	s.inbox(drNorth, noticeTitle)
}

func ledgerReminders(t *testing.T) {
	defer ledgerSettings(t, `{"escalate_minutes":30,"escalate_most":2,"remind_hours":6}`)()
	s := fresh(t, "7.9")
	for level := 1; level <= 2; level++ {
		s.older(31)
		await.True(t, "an escalation", func() bool { return s.opened().Escalations == level })
	}
	e := s.opened()
	if e.DueAt != nil || e.RemindAt == nil {
		t.Fatalf("after the last escalation: %+v", e)
	}
	s.inbox(ledgerUser, noticeTitle, overdueTitle, overdueTitle)
	s.older(6*60 + 1)
	await.True(t, "a reminder", func() bool { return len(s.titles(ledgerUser)) == 4 })
	s.inbox(ledgerUser, noticeTitle, overdueTitle, overdueTitle, overdueTitle)
	s.inbox(drNorth, noticeTitle)
	s.logged("reminder", map[string]any{"reminder": true})
	if e := s.opened(); e.DueAt != nil || e.RemindAt == nil {
		t.Errorf("after the reminder: %+v", e)
	}
	s.called()
	s.older(12 * 60)
	reaped(t)
	s.inbox(ledgerUser, noticeTitle, overdueTitle, overdueTitle, overdueTitle)
}
