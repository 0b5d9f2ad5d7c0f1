package upload_test

import (
	"context"
	"io"
	"strings"
	"testing"

	"github.com/labplatform/labplatform/pkg/apperr"
	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/services/externaledit/internal/upload"
)

// gated is a form whose second part is delayed until the gate is opened.
type gated struct {
	upload.Form
	parts      int
	here, gate chan struct{}
}

func gate(f upload.Form) *gated {
	return &gated{Form: f, here: make(chan struct{}), gate: make(chan struct{})}
}

func (g *gated) Next() (upload.Part, error) {
	if g.parts++; g.parts == 2 {
		close(g.here)
		<-g.gate
	}
	return g.Form.Next()
}

// TestASlowSaveDoesNotReplaceWhatWasTypedBackMeanwhile saves A, then B on a slow line, then A again, which arrives
// first. B was undone by the author, so the report must end with A.
func TestASlowSaveDoesNotReplaceWhatWasTypedBackMeanwhile(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	u := b.useCase(b.reports(), b.files)
	if _, err := b.save(u, saying(t, "A")); err != nil {
		t.Fatal(err)
	}
	slow, done := gate(saying(t, "B")), make(chan error)
	go func() {
		_, err := b.save(u, slow)
		done <- err
	}()
	<-slow.here
	if _, err := b.save(u, saying(t, "A")); err != nil {
		t.Fatal(err)
	}
	close(slow.gate)
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	if _, said := b.linked(); said != "A" {
		t.Errorf("linked %q, the newest acknowledged save said A", said)
	}
	b.sweep()
	b.wantNothingLeft("after an overtaken save")
}

// TestTheFilesOfAnUploadThatTheSweeperTookForDeadAreDeleted covers a process that was suspended, or could not reach the
// database, while it received the PDF. Its files must be deleted.
func TestTheFilesOfAnUploadThatTheSweeperTookForDeadAreDeleted(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	slow, done := gate(saying(t, "new")), make(chan error)
	go func() {
		_, err := b.save(b.useCase(b.reports(), b.files), slow)
		done <- err
	}()
	<-slow.here
	b.sweep()
	close(slow.gate)
	if err := <-done; err == nil {
		t.Error("acknowledged")
	}
	b.wantNothingLeft("after the upload ended")
}

// slowDisk reads the whole Word document but returns only when the PDF arrives.
type slowDisk struct {
	upload.Files
	pdf chan struct{}
}

func (f slowDisk) Put(
	ctx context.Context, scope authn.LabScope, key, contentType string, source io.Reader,
) (int64, error) {
	if strings.HasSuffix(key, ".pdf") {
		close(f.pdf)
		return f.Files.Put(ctx, scope, key, contentType, source)
	}
	n, err := f.Files.Put(ctx, scope, key, contentType, source)
	if m, _ := source.Read(make([]byte, 1)); m > 0 { // some stores read again after the end
		panic("the Word document continues in the next part")
	}
	select {
	case <-f.pdf:
	case <-ctx.Done():
		return 0, ctx.Err()
	}
	return n, err
}

// TestThePDFArrivesWhileTheWordDocumentIsStored checks that the PDF is received before the Word document is on disk.
func TestThePDFArrivesWhileTheWordDocumentIsStored(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, b *fixture) {
		if _, err := b.save(b.useCase(b.reports(), slowDisk{b.files, make(chan struct{})}), saying(t, "new")); err != nil {
			t.Fatal(err)
		}
		if _, said := b.linked(); said != "new" {
			t.Errorf("linked %q", said)
		}
	})
}

// damaged is a store with a file that makes the check of the Word document panic.
type damaged struct{ upload.Files }

func (damaged) Open(context.Context, authn.LabScope, string, int64, int64) (io.ReadCloser, error) {
	panic("index out of range")
}

func TestACheckThatPanicsRefusesTheSaveAlone(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	if _, err := b.save(b.useCase(b.reports(), damaged{b.files}), saying(t, "new")); apperr.KindOf(err) != apperr.Internal {
		t.Errorf("answered %v", err)
	}
	b.wantNothingLeft("after a panic")
}
