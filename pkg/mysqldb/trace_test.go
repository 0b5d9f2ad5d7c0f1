package mysqldb

import "testing"

func TestSummaryIsVerbAndTable(t *testing.T) {
	t.Parallel()
	for query, want := range map[string]string{
		"SELECT o.id FROM outbox_rerun o WHERE o.kind = ?": "SELECT outbox_rerun",
		"insert into `notifications` (a) VALUES (?)":       "INSERT notifications",
		"UPDATE report SET a = (SELECT 1 FROM other)":      "UPDATE report",
		"DELETE FROM outbox_rerun WHERE id IN (?)":         "DELETE outbox_rerun",
		"SELECT\n GET_LOCK(?, 0)":                          "SELECT",
		"":                                                 "",
	} {
		if got := summary(query); got != want {
			t.Errorf("summary(%q) = %q, want %q", query, got, want)
		}
	}
}
