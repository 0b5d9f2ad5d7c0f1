package certificates

import (
	"testing"
	"time"
)

// Made is New for a test, which fails when there is no authority.
func Made(t testing.TB, name string) *Authority {
	t.Helper()
	a, err := New(name)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// Member is Issue for a test, which fails when the files cannot be written.
func (a *Authority) Member(t testing.TB, folder string, until time.Time, trusted ...*Authority) Files {
	t.Helper()
	files, err := a.Issue(folder, until, trusted...)
	if err != nil {
		t.Fatal(err)
	}
	return files
}
