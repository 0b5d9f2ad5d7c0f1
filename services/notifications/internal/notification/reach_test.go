package notification_test

import (
	"testing"

	"github.com/labplatform/labplatform/services/notifications/internal/notification"
)

func TestTheFirstReasonOfANoticeThatReachesNobody(t *testing.T) {
	t.Parallel()
	for facts, want := range map[notification.Reach]notification.Unreachable{
		{Device: true}:                "",
		{}:                            notification.NoDevice,
		{Waits: true}:                 notification.NoDevice,
		{Waits: true, Device: true}:   notification.Waits,
		{PushOff: true, Device: true}: notification.PushOff,
		{PushOff: true}:               notification.PushOff,
		{TypeOff: true, Device: true}: notification.TypeOff,
		{TypeOff: true, PushOff: true, Device: true}: notification.TypeOff,
	} {
		if got := facts.Unreachable(); got != want {
			t.Errorf("%+v: %q, want %q", facts, got, want)
		}
	}
}

func TestAWithdrawnMessageKeepsItsData(t *testing.T) {
	t.Parallel()
	const body = "This notice does not apply any more. Do not act on it; open the report for its current values."
	for data, want := range map[string]string{
		`{"lrr_id":7001}`: `{"lrr_id":7001,"withdrawn":true}`, `{}`: `{"withdrawn":true}`, `null`: `{"withdrawn":true}`,
		`[]`: `{"withdrawn":true}`, ``: `{"withdrawn":true}`,
	} {
		m := notification.Message{Title: "Critical report", Body: "Open it now.", Data: []byte(data)}.Withdrawn()
		if m.Title != "Withdrawn: Critical report" || m.Body != body || string(m.Data) != want {
			t.Errorf("%s: %q, %q, %s; want the data %s", data, m.Title, m.Body, m.Data, want)
		}
	}
}
