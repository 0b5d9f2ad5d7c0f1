package upload_test

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/services/externaledit/internal/upload"
)

var errBoom = errors.New("boom")

// faultyFiles is a file store in which some operations fail.
type faultyFiles struct {
	upload.Files
	// Suffixes of keys: with refuse, Put stores nothing; with lose, it stores the object and returns an error.
	refuse, lose string
	keep         bool // Delete fails
}

func (f faultyFiles) Put(
	ctx context.Context, scope authn.LabScope, key, contentType string, source io.Reader,
) (int64, error) {
	if f.refuse != "" && strings.HasSuffix(key, f.refuse) {
		_, _ = io.CopyN(io.Discard, source, 10)
		return 0, errBoom
	}
	n, err := f.Files.Put(ctx, scope, key, contentType, source)
	if f.lose != "" && strings.HasSuffix(key, f.lose) {
		return 0, errBoom
	}
	return n, err
}

func (f faultyFiles) Delete(ctx context.Context, scope authn.LabScope, key string) error {
	if f.keep {
		return errBoom
	}
	return f.Files.Delete(ctx, scope, key)
}

// faultyReports is a database in which one transaction fails.
type faultyReports struct {
	upload.Reports
	n      *int
	gone   int // number of the transaction that is rolled back
	lost   int // number of the transaction that is committed but returns an error
	silent bool
}

func (r faultyReports) Lock(ctx context.Context, scope authn.LabScope, id int64, work func(upload.Locked) error) error {
	*r.n++
	n := *r.n
	err := r.Reports.Lock(ctx, scope, id, func(l upload.Locked) error {
		if err := work(l); err != nil || n != r.gone {
			return err
		}
		return errBoom
	})
	if n == r.lost && err == nil {
		return errBoom
	}
	return err
}

func (r faultyReports) Abandon(ctx context.Context, scope authn.LabScope, id int64) (bool, error) {
	if r.silent {
		return false, errBoom
	}
	return r.Reports.Abandon(ctx, scope, id)
}

// Numbers of the transactions of a save.
const (
	announcing = 1
	linking    = 2
)

func TestFaultsOfTheStores(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		files   faultyFiles
		reports faultyReports
		saved   bool   // the caller gets no error
		linked  string // "" stands for previous
	}{
		"the store refuses the Word file":               {files: faultyFiles{refuse: ".docx"}},
		"the store refuses the second file":             {files: faultyFiles{refuse: ".pdf"}},
		"the store loses the answer to the second file": {files: faultyFiles{lose: ".pdf"}},
		"nor can anything be deleted":                   {files: faultyFiles{refuse: ".pdf", keep: true}},
		"the database is lost before the files":         {reports: faultyReports{gone: announcing}},
		"the answer to the announcement is lost":        {reports: faultyReports{lost: announcing}},
		"the database is lost at the commit":            {reports: faultyReports{gone: linking}},
		"the answer to the commit is lost":              {reports: faultyReports{lost: linking}, saved: true, linked: "new"},
		"and the database cannot be asked what happened": {reports: faultyReports{lost: linking, silent: true},
			linked: "new"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newFixture(t)
			if _, err := b.save(b.useCase(b.reports(), b.files), saying(t, "previous")); err != nil {
				t.Fatal(err)
			}
			c.files.Files, c.reports.Reports, c.reports.n = b.files, b.reports(), new(int)
			_, err := b.save(b.useCase(c.reports, c.files), saying(t, "new"))
			if (err == nil) != c.saved {
				t.Errorf("answered %v", err)
			}
			want := c.linked
			if want == "" {
				want = "previous"
			}
			if _, said := b.linked(); said != want {
				t.Errorf("linked %q, want %q", said, want)
			}
			b.sweep()
			b.wantNothingLeft(name)
		})
	}
}
