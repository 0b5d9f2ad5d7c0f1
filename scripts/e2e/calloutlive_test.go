package e2e

import (
	"net/http"
	"slices"
	"testing"
)

const calloutLivePath = "/operation/critical-callout/live"

// wantOpen skips events until a worklist has the report, or, if listed is false, lacks it.
func (s *eventStream) wantOpen(report int, listed bool) {
	s.t.Helper()
	for {
		e := s.next()
		open, _ := e.data["open"].([]any)
		found := slices.ContainsFunc(open, func(item any) bool {
			return item.(map[string]any)["lab_report_id"] == float64(report)
		})
		if e.name == "worklist" && found == listed {
			return
		}
	}
}

// TestCalloutLive follows the event stream of the board: a result appears, is called, and disappears. Another
// laboratory gets no event.
func TestCalloutLive(t *testing.T) {
	t.Parallel()
	board, alias, stranger := openStream(t, labSession, calloutLivePath, ""), openStream(t, labSession, "/api-v3"+calloutLivePath, ""),
		openStream(t, otherSession, calloutLivePath, "")
	if e := stranger.next(); e.name != "worklist" || len(e.data["open"].([]any)) != 0 {
		t.Errorf("the other laboratory begins with %s %v", e.name, e.data)
	}
	newCriticalBill(t, 977900, 0, 3)
	if got := evaluateBill(t, 977900); got.status != http.StatusOK {
		t.Fatalf("got %d %s, want status 200", got.status, got.body)
	}
	board.wantOpen(977901, true)
	alias.wantOpen(977901, true)
	got := call(t, labSession, "POST", "/report/977900/critical/callout", `{"is_draft":false,"lab_report_ids":[977901],"recipients":["Referral Doctor"],
		"communication_methods":["call"],"read_back":true,"notified_person":"Dr Rao"}`)
	if got.status != http.StatusOK {
		t.Fatalf("got %d %s, want status 200", got.status, got.body)
	}
	board.wantOpen(977901, false)
	for len(stranger.events) > 0 {
		if e := stranger.next(); e.name == "worklist" {
			t.Errorf("the other laboratory hears %v", e.data)
		}
	}
	for session, want := range map[string]int{"": http.StatusUnauthorized, "demo-organization": http.StatusForbidden} {
		if got := call(t, session, "GET", calloutLivePath, ""); got.status != want {
			t.Errorf("as %q: %d %s", session, got.status, got.body)
		}
	}
}
