package e2e

import (
	"fmt"
	"net"
	"net/http"
	"testing"

	"github.com/redis/go-redis/v9"
)

// logOut deletes a session, as the logout in the browser does.
func logOut(t *testing.T, session string) {
	t.Helper()
	own := stack.Endpoints.Environ["externaledit"]
	cache := redis.NewClient(&redis.Options{
		Addr: net.JoinHostPort(own["EXTERNAL_EDIT_KV_HOST"], own["EXTERNAL_EDIT_KV_PORT"])})
	defer cache.Close()
	if err := cache.Del(t.Context(), "session:"+session).Err(); err != nil {
		t.Fatal(err)
	}
}

// linkedFile returns the Word file in the report's row.
func linkedFile(t *testing.T, report int) (file string) {
	t.Helper()
	queryRow(t, "SELECT COALESCE(wordFilePath, '') FROM labReportRelation WHERE id = ?", report).scan(&file)
	return file
}

// saves sends a save of a session. It checks the status, and that the report's row names another file only after a
// success.
func saves(t *testing.T, when string, report, id int, token string, want int) {
	t.Helper()
	before := linkedFile(t, report)
	got := mustUpload(t, id, token, savedPair(t, when))
	if got.status != want {
		t.Errorf("%s: %d %s, want %d", when, got.status, got.body, want)
	}
	if after := linkedFile(t, report); (after != before) != (want == http.StatusOK) {
		t.Errorf("%s: the report had %s and has %s", when, before, after)
	}
}

// TestExternalEditAsksAgainForTheRightAtEachSave checks that each save checks the permission again. For an author in
// the list of users the list decides, even after a logout. For any other author the login decides.
func TestExternalEditAsksAgainForTheRightAtEachSave(t *testing.T) {
	t.Parallel()
	report, unlisted := editReport(t), editor(t, 12, "report_edit")
	id, token := openSession(t, unlisted, report, creation)
	saves(t, "logged in", report, id, token, http.StatusOK)
	logOut(t, unlisted)
	saves(t, "logged out", report, id, token, http.StatusForbidden)
	again := editor(t, 12, "report_edit")
	if next, _ := openSession(t, again, report, creation); next == id { // a new session: the previous one has ended
		t.Error("the session of a login that has ended still holds the report")
	}

	report, first := editReport(t), editor(t, 12, "report_edit")
	id, token = openSession(t, first, report, creation)
	logOut(t, first)
	second := first + "-again"
	logIn(t, second, 12, userOf(t, first), "report_edit")
	if got := call(t, second, "GET", fmt.Sprintf("%s/%d", editPath, report), ""); got.status != http.StatusOK {
		t.Fatalf("the author's own session: %d %s", got.status, got.body)
	}
	saves(t, "logged in again", report, id, token, http.StatusOK)
	logOut(t, second)
	saves(t, "logged out again", report, id, token, http.StatusForbidden)

	report, listed := editReport(t), editor(t, 12, "report_edit")
	number := enlist(t, listed, `["report_edit"]`)
	id, token = openSession(t, listed, report, creation)
	logOut(t, listed)
	saves(t, "a listed author is logged out", report, id, token, http.StatusOK)
	execSQL(t, "UPDATE labUser SET permissions = '[]' WHERE id = ?", number)
	saves(t, "the list withdrew the permission", report, id, token, http.StatusForbidden)
}

// TestExternalEditAsksTheListForTheRightToRestore uses a login with the permission. The restore must be refused while
// the list of users lacks the user or the user's permission, and succeed once it has both.
func TestExternalEditAsksTheListForTheRightToRestore(t *testing.T) {
	t.Parallel()
	report, asha, chief := editReport(t), editor(t, 12, "report_edit"), editor(t, 12, "report_edit_takeover")
	id, token := openSession(t, asha, report, creation)
	saves(t, "one", report, id, token, http.StatusOK)
	saves(t, "two", report, id, token, http.StatusOK)
	if got := call(t, asha, "PUT", fmt.Sprintf("%s/%d", editPath, id), ""); got.status != http.StatusOK {
		t.Fatalf("got %d %s, want status 200", got.status, got.body)
	}
	list := revisionsOf(t, asha, fmt.Sprintf("%s/%d/revisions", editPath, report))
	restore := fmt.Sprintf("%s/%d/revisions/%.0f/restore", editPath, report, list[1]["id"])
	before := linkedFile(t, report)
	if got := call(t, chief, "POST", restore, ""); got.status != http.StatusForbidden || linkedFile(t, report) != before {
		t.Errorf("the list has others alone: %d %s, want 403 and nothing changed", got.status, got.body)
	}
	number := enlist(t, chief, `["report_edit"]`)
	if got := call(t, chief, "POST", restore, ""); got.status != http.StatusForbidden || linkedFile(t, report) != before {
		t.Errorf("the list withholds the permission: %d %s, want 403 and nothing changed", got.status, got.body)
	}
	execSQL(t, `UPDATE labUser SET permissions = '["report_edit_takeover"]' WHERE id = ?`, number)
	if got := call(t, chief, "POST", restore, ""); got.status != http.StatusOK || linkedFile(t, report) == before {
		t.Errorf("the list has the permission: %d %s, want 200 and the earlier file", got.status, got.body)
	}
}
