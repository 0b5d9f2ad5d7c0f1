package mysql_test

import (
	"encoding/json"
	"testing"

	"github.com/labplatform/labplatform/services/notifications/internal/inbox"
	"github.com/labplatform/labplatform/services/notifications/internal/live"
	"github.com/labplatform/labplatform/services/notifications/internal/notification"
	"github.com/labplatform/labplatform/services/notifications/internal/notify"
	"github.com/labplatform/labplatform/services/notifications/internal/store/storetest"
)

// TestANoticeNamesTheBillOfItsReportToday stores notices about reports, then moves one report to another bill and back,
// as a split and its undoing do. The notice must name the present bill.
func TestANoticeNamesTheBillOfItsReportToday(t *testing.T) {
	t.Parallel()
	s := storetest.Open(t)
	s.Exec("INSERT INTO labReportRelation (id, labId_id, billId_id, userDetailsId_id, reportID_id) VALUES" +
		" (7018, 12, 9011, 1, 55), (7019, 12, 9011, 1, 55), (8018, 13, 9911, 1, 55)")
	v := storetest.User(t, 12, 77)
	for _, data := range []string{
		`{"lrr_id":7018,"bill_id":9011,"note":"x"}`, `{"lrr_id":"7018","bill_id":"9011"}`, `{"lrr_id":7019,"bill_id":9011}`,
		`{"lrr_id":8018,"bill_id":9011}`, `{"lrr_id":7018}`, `{"bill_id":9011}`, `{"lrr_id":4,"bill_id":9011}`, `{"lrr_id":{},"bill_id":9011}`,
	} {
		n := notify.New{TypeID: 2, Message: notification.Message{Title: "t", Data: []byte(data)}, Context: []byte(`{"lab_id":12}`)}
		if _, err := s.Add(t.Context(), v.Lab, n, storetest.Push, storetest.Start); err != nil {
			t.Fatal(err)
		}
	}
	expect := func(what, first, second string) {
		t.Helper()
		listed, err := s.List(t.Context(), v, notification.Window{To: storetest.Start.Unix()}, inbox.Page{Limit: 100})
		if err != nil {
			t.Fatal(err)
		}
		streamed, err := s.After(t.Context(), v, live.Position{}, 100)
		if err != nil {
			t.Fatal(err)
		}
		want := []string{first, second, `{"lrr_id":7019,"bill_id":9011}`, `{"lrr_id":8018,"bill_id":9011}`, `{"lrr_id":7018}`,
			`{"bill_id":9011}`, `{"lrr_id":4,"bill_id":9011}`, `{"lrr_id":{},"bill_id":9011}`}
		for i, data := range want {
			data = ordered(t, []byte(data))
			got := []string{ordered(t, listed[len(want)-1-i].Message.Data), ordered(t, streamed[i].Message.Data)}
			if got[0] != data || got[1] != data {
				t.Errorf("%s: notice %d has %q, want %s in the list and in the stream", what, i, got, data)
			}
		}
	}
	before := [2]string{`{"lrr_id":7018,"bill_id":9011,"note":"x"}`, `{"lrr_id":"7018","bill_id":"9011"}`}
	expect("before the split", before[0], before[1])
	s.Exec("UPDATE labReportRelation SET billId_id = 9500 WHERE id = 7018")
	expect("after the split", `{"bill_id":9500,"lrr_id":7018,"note":"x"}`, `{"bill_id":"9500","lrr_id":"7018"}`)
	s.Exec("UPDATE labReportRelation SET billId_id = 9011 WHERE id = 7018")
	expect("merged back", before[0], before[1])
}

// ordered returns JSON in one form, because MySQL and MariaDB store it differently.
func ordered(t *testing.T, data []byte) string {
	t.Helper()
	var fields map[string]any
	if err := json.Unmarshal(data, &fields); err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(fields)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
