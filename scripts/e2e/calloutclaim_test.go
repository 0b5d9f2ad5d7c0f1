package e2e

import (
	"fmt"
	"strings"
	"testing"
)

// TestCalloutClaimsOverREST checks "I am calling" with every documented status: claimed, refused to another user with
// the name, taken over, given up.
func TestCalloutClaimsOverREST(t *testing.T) {
	t.Parallel()
	const bill, report = 971500, 971501
	newCriticalBill(t, bill, 0, 3)
	if got := evaluateBill(t, bill); got.status != 200 {
		t.Fatalf("got %d %s, want status 200", got.status, got.body)
	}
	claims := func(id int) string { return fmt.Sprintf("/operation/critical-callout/claims/%d", id) }
	first := call(t, labSession, "PUT", claims(report), "{}")
	since, _ := first.json(t)["since"].(string)
	if first.status != 200 || since == "" || !strings.Contains(first.body, `"mine":true`) {
		t.Fatalf("got %d %s, want status 200", first.status, first.body)
	}
	seen := call(t, "demo-admin", "GET", "/operation/critical-callout/open", "")
	if want := fmt.Sprintf(`"claim":{"name":"Asha Ranade","since":%q`, since); !strings.Contains(seen.body, want) || strings.Contains(seen.body, `"mine":true`) {
		t.Errorf("another person's board has no %s: %s", want, seen.body)
	}
	for _, c := range []struct {
		session, method, path, body string
		status                      int
		contains                    string
	}{
		{labSession, "PUT", claims(report), "{}", 200, since},
		{"demo-admin", "PUT", claims(report), "{}", 409, `"name":"Asha Ranade"`},
		{"demo-admin", "DELETE", claims(report), "", 409, "CLAIMED"},
		{"demo-admin", "PUT", claims(report), `{"instead_of":"2026-01-01T00:00:00Z"}`, 409, "CLAIMED"},
		{"demo-admin", "PUT", claims(report), `{"instead_of":"noon"}`, 400, "instead_of"},
		{"demo-admin", "PUT", claims(report), fmt.Sprintf(`{"instead_of":%q}`, since), 200, "Sunita Deshpande"},
		{"demo-admin", "DELETE", claims(report), "", 200, "{}"},
		{"demo-admin", "DELETE", claims(report), "", 200, "{}"},
		{labSession, "PUT", claims(report + 2), "{}", 404, "reload the board"},
		{labSession, "PUT", claims(0), "{}", 400, "lab_report_id"},
		{labSession, "DELETE", claims(0), "", 400, "lab_report_id"},
		{otherSession, "PUT", claims(report), "{}", 404, "reload the board"},
		{otherSession, "DELETE", claims(report), "", 404, "reload the board"},
		{"", "PUT", claims(report), "{}", 401, ""},
	} {
		if got := call(t, c.session, c.method, c.path, c.body); got.status != c.status || !strings.Contains(got.body, c.contains) {
			t.Errorf("%s %s by %q with %s: %d %s, want %d with %s", c.method, c.path, c.session, c.body, got.status, got.body, c.status, c.contains)
		}
	}
}
