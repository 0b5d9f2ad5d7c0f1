package upload

import (
	"context"
	"io"

	"github.com/labplatform/labplatform/pkg/apperr"
	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/services/externaledit/document"
)

// Copier makes the documents that sessions begin with. Files may lose a copy in a power failure; the repeated creation
// makes another one.
type Copier struct{ Files Files }

// Copy stores a copy of the Word document of size bytes at key from as key to, with the id of the report in it. It
// returns false, and stores nothing, if the file is not a Word document that can be copied. It may be repeated.
func (c Copier) Copy(
	ctx context.Context, scope authn.LabScope, reportID int64, from string, size int64, to string,
) (bool, error) {
	if size > document.Word.MaxBytes {
		return false, nil
	}
	ctx, cancel := context.WithCancel(ctx) // cancel ends the writer if the store fails
	defer cancel()
	source := newStoredFile(ctx, c.Files, scope, from, size)
	reader, writer := io.Pipe()
	go func() {
		_ = writer.CloseWithError(document.CopyFor(reportID, writer, source, size))
	}()
	_, err := c.Files.Put(ctx, scope, to, document.Word.ContentType, reader)
	_ = reader.Close()
	if found, ok := apperr.From(err); err != nil && (!ok || found.Kind == apperr.Invalid) && ctx.Err() == nil {
		return false, nil // the document cannot be copied; errors of the store have other kinds
	}
	return err == nil, err
}
