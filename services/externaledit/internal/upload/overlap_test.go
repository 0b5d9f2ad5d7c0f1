package upload_test

import (
	"context"
	"io"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/labplatform/labplatform/pkg/apperr"
	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/services/externaledit/internal/upload"
)

// slowDisk takes the whole Word document and is done with it only when the PDF arrives.
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
	if m, _ := source.Read(make([]byte, 1)); m > 0 { // as stores do that look twice for the end
		panic("the Word document goes on in the next part")
	}
	select {
	case <-f.pdf:
	case <-ctx.Done():
		return 0, ctx.Err()
	}
	return n, err
}

// The PDF does not wait for the disk to have the Word document.
func TestThePDFArrivesWhileTheWordDocumentIsStored(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	synctest.Test(t, func(t *testing.T) {
		b.t = t
		if _, err := b.save(b.useCase(b.reports(), slowDisk{b.files, make(chan struct{})}), saying(t, "new")); err != nil {
			t.Fatal(err)
		}
		if _, said := b.linked(); said != "new" {
			t.Errorf("linked %q", said)
		}
	})
}

// damaged is a store whose file makes the check of the Word document panic.
type damaged struct{ upload.Files }

func (damaged) Open(context.Context, authn.LabScope, string, int64, int64) (io.ReadCloser, error) {
	panic("index out of range")
}

func TestACheckThatPanicsRefusesTheSaveAlone(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	if _, err := b.save(b.useCase(b.reports(), damaged{b.files}), saying(t, "new")); apperr.KindOf(err) != apperr.Internal {
		t.Errorf("answered %v", err)
	}
	b.wantNothingLeft("after a panic")
}
