package upload

import (
	"context"
	"io"

	"github.com/labplatform/labplatform/pkg/apperr"
	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/services/externaledit/document"
)

// Copier makes the documents that sessions begin with. Files may lose a copy with the power: the repeated creation
// makes another one.
type Copier struct{ Files Files }

// Copy stores the Word document of size bytes at from as to, with the id of the report in it. It returns false for a
// file that is no such document, of which there is no copy. It may be repeated.
func (c Copier) Copy(
	ctx context.Context, scope authn.LabScope, reportID int64, from string, size int64, to string,
) (bool, error) {
	if size > document.Word.MaxBytes {
		return false, nil
	}
	ctx, cancel := context.WithCancel(ctx) // ends the writer when the store fails
	defer cancel()
	source := newStoredFile(ctx, c.Files, scope, from, size)
	reader, writer := io.Pipe()
	go func() {
		_ = writer.CloseWithError(document.CopyFor(reportID, writer, source, size))
	}()
	_, err := c.Files.Put(ctx, scope, to, document.Word.ContentType, reader)
	_ = reader.Close()
	if found, ok := apperr.From(err); err != nil && (!ok || found.Kind == apperr.Invalid) && ctx.Err() == nil {
		return false, nil // of the document: the store has errors of its own
	}
	return err == nil, err
}
