package certificates

import (
	"testing"
	"time"
)

// Made creates a CA like New, and fails the test on an error.
func Made(t testing.TB, name string) *Authority {
	t.Helper()
	a, err := New(name)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// Member writes the files of a member like Issue, and fails the test on an error.
func (a *Authority) Member(t testing.TB, folder string, until time.Time, trusted ...*Authority) Files {
	t.Helper()
	files, err := a.Issue(folder, until, trusted...)
	if err != nil {
		t.Fatal(err)
	}
	return files
}
