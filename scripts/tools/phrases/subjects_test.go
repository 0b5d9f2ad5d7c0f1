package main

import (
	"strings"
	"testing"
)

func TestSubjects(t *testing.T) {
	cases := []struct{ subject, want string }{
		{"mysqldb: treat a full database disk as temporary", ""},
		{"taskqueue: tell a missing EVAL right from a missing key", ""},
		{"externaledit: iterate rows with mysqldb.Each", ""},
		{"pkg/httpserver, gateway: pass deadlines on", ""},
		{"rerun and callout: process a message once", ""},
		{"docs: embed the picture that is drawn by hand", ""},
		{"docs: say what is deferred", ""},
		{"scripts/tools: need no lock file", ""},
		{"ci: bring the linter up to date", ""},
		{`Revert "mysqldb: treat a full database disk as temporary"`, ""},
		{"mysqldb: " + strings.Repeat("x", 63), ""},
		{"mysqldb: " + strings.Repeat("x", 64), "73 characters"},
		{"mysqldb: " + strings.Repeat("ü", 63), ""},
		{"treat a full disk as temporary", "begin with the area"},
		{"Mysqldb: treat a full disk as temporary", "begin with the area"},
		{"mysqldb:treat a full disk as temporary", "begin with the area"},
		{"mysqldb: ", "say what the commit does"},
		{"mysqldb: treat a full disk as a full server: 503", "one colon"},
		{"externaledit: iterate rows, 525 lines fewer", "figures"},
		{"externaledit: iterate rows, 525 -> 496", "figures"},
		{"mysqldb: a full disk passes", "imperative"},
		{"mysqldb: treats a full disk as temporary", "imperative"},
		{"mysqldb: treated a full disk as temporary", "imperative"},
		{"mysqldb: treating a full disk as temporary", "imperative"},
		{"mysqldb: Treat a full disk as temporary", "imperative"},
		{"taskqueue: old leases are trimmed", "imperative"},
		{"taskqueue: maintenance is quicker", "imperative"},
		{"taskqueue: leases end", "imperative"},
	}
	for _, c := range cases {
		got := subjectProblem(c.subject)
		if (c.want == "") != (got == "") || !strings.Contains(got, c.want) {
			t.Errorf("subject %q: want a problem with %q, got %q", c.subject, c.want, got)
		}
	}
}

func TestALogOfCommits(t *testing.T) {
	var out strings.Builder
	failed := checkLog(&out, "aaaaaaa mysqldb: treat a full disk as temporary\nbbbbbbb mysqldb: better\nccccccc better\n")
	want := "commit ccccccc: \"better\": begin with the area in lower case, as in \"mysqldb: treat a full disk as temporary\"\n"
	if !failed || out.String() != want {
		t.Errorf("want failed and %q, got %v and %q", want, failed, out.String())
	}
}

func TestAHistoryThatDoesNotReachBackIsSkipped(t *testing.T) {
	var out strings.Builder
	failed, err := checkSubjects(&out, "0123456789012345678901234567890123456789")
	want := "skipped: commit subjects: this history does not reach back to 012345678901; fetch all of it to check them\n"
	if failed || err != nil || out.String() != want {
		t.Errorf("want %q, got %q, failed %v, error %v", want, out.String(), failed, err)
	}
}
