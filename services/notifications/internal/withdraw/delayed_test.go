package withdraw_test

import (
	"fmt"
	"testing"

	"github.com/labplatform/labplatform/services/notifications/internal/notification"
)

// TestAPushThatAnOperatorPausesWaitsHere checks that no push is sent after the pause if its result was called in the
// meantime.
func TestAPushThatAnOperatorPausesWaitsHere(t *testing.T) {
	t.Parallel()
	for _, lab := range []bool{false, true} {
		f := open(t)
		f.paused, f.labPaused = !lab, lab
		f.notify("k")
		f.notify("other")
		if n, _ := f.tryDeliver(); n != 0 || len(f.stopped) != 0 {
			t.Fatalf("paused: %d tasks, stopped %v; want none", n, f.stopped)
		}
		f.withdraw("k", notification.Called)
		f.paused, f.labPaused = false, false
		if n := f.deliver(); n != 3 || fmt.Sprint(f.stopped) != "[withdrawn]" {
			t.Errorf("resumed: %d tasks, stopped %v; want the 3 of the other notice, and one stopped", n, f.stopped)
		}
	}
}

// TestAPushOfATypeThatWasSwitchedOffIsNotSent switches the type off while the push waits. It must not be sent.
func TestAPushOfATypeThatWasSwitchedOffIsNotSent(t *testing.T) {
	t.Parallel()
	f := open(t)
	f.notify("k")
	f.Exec("INSERT INTO LabNotificationTypes (lab_id, notification_type_id, is_disabled, updated_at) VALUES (12, 2, 1, 0)")
	if n := f.deliver(); n != 0 || fmt.Sprint(f.stopped) != "[type_off]" {
		t.Errorf("%d tasks, stopped %v; want none", n, f.stopped)
	}
	f.Exec("UPDATE NotificationTypesMaster SET is_mandatory = 1 WHERE id = 2")
	if n := f.deliver(); n != 3 {
		t.Errorf("a mandatory type: %d tasks, want 3", n)
	}
}

// TestADelayedReportReadyIsChecked delivers pushes that say that a report is ready, after the report was dismissed or is
// measured again. They must not be sent, and those of a critical result must.
func TestADelayedReportReadyIsChecked(t *testing.T) {
	t.Parallel()
	f := open(t)
	f.Exec("INSERT INTO labReportRelation (id, labId_id, billId_id, userDetailsId_id, reportID_id) VALUES (7001, 12, 401, 501, 55)," +
		" (7002, 13, 402, 601, 55)")
	f.notifyOf(notification.ReportReady, "number", `{"lab_id":12,"org_id":45,"lrr_id":7001}`)
	f.notifyOf(notification.ReportReady, "digits", `{"lab_id":12,"org_id":45,"lrr_id":"7001"}`)
	f.notifyOf(notification.ReportReady, "bill", `{"lab_id":12,"org_id":45,"bill_id":401}`)
	f.notifyOf(notification.ReportReady, "of another laboratory", `{"lab_id":12,"org_id":45,"lrr_id":7002}`)
	f.notify("critical")
	for state, want := range map[string]string{
		"dismissed = 0": "7 []", "dismissed = 1": "5 [not_ready not_ready]", "dismissed = 0, sampleRedrawFlag = 3": "5 [not_ready not_ready]",
		"dismissed = 0, sampleRedrawFlag = 4": "5 [not_ready not_ready]", "dismissed = 0, sampleRedrawFlag = 0": "7 []",
	} {
		f.Exec("UPDATE labReportRelation SET sampleRedrawFlag = 0")
		f.Exec("UPDATE labReportRelation SET " + state)
		f.stopped = nil
		if got := fmt.Sprint(f.deliver(), f.stopped); got != want {
			t.Errorf("%s: %s, want %s", state, got, want)
		}
	}
}

// TestAPushOfBeforePushesWereOffWaits checks that earlier messages wait in the outbox when pushes are off: callout does
// not announce a result again that was to reach devices. Pushes may be off by mistake: after an upgrade without its
// values, or in one of two pods during a rollout.
func TestAPushOfBeforePushesWereOffWaits(t *testing.T) {
	t.Parallel()
	f := open(t)
	f.notify("a")
	f.notify("withdrawn")
	f.withdraw("withdrawn", notification.Called)
	f.pushOff = true
	if n, waiting := f.tryDeliver(); n != 0 || waiting != 1 || fmt.Sprint(f.stopped) != "[withdrawn]" {
		t.Errorf("%d tasks, %d waiting, stopped %v; want one waiting, and one withdrawn", n, waiting, f.stopped)
	}
	f.pushOff = false
	if n := f.deliver(); n != 3 {
		t.Errorf("on again: %d tasks, want 3", n)
	}
}
