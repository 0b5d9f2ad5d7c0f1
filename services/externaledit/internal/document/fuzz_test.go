package document_test

import (
	"testing"

	"github.com/labplatform/labplatform/services/externaledit/internal/store/storetest"
)

// Whatever someone uploads, the verdict does not depend on the pieces in which it arrives.
func FuzzAPDFIsJudgedAlikeInAnyPieces(f *testing.F) {
	for _, text := range []string{
		"", "%PDF-1.7\n%%EOF", "%PDF-1.7\n/#4a#61vaScript%%EOF", "%PDF-1.4\n/Launch", "/ObjStm stream\r\nx\xdaendstream%%EOF",
		objectStream("<< /S /JavaScript >>") + "%%EOF", "/ObjStm /ObjStm stream\nstream\n" + deflated("/EmbeddedFile") + "endstream",
	} {
		f.Add([]byte(text), 1)
		f.Add([]byte(text), 7)
	}
	f.Add(storetest.PDF("<< /Type /Catalog >>"), 300)
	f.Fuzz(func(t *testing.T, content []byte, piece int) {
		if piece < 1 || len(content) > 1<<16 {
			t.Skip()
		}
		whole, pieces := reason(scan(content, len(content)+1)), reason(scan(content, piece))
		if whole != pieces {
			t.Errorf("%q as a whole, %q in pieces of %d", whole, pieces, piece)
		}
	})
}

// A document is judged within bounds and without a panic, and nothing but a Word document passes.
func FuzzAWordDocumentIsJudged(f *testing.F) {
	for _, content := range [][]byte{nil, []byte("PK\x03\x04"), []byte("PK\x05\x06" + string(make([]byte, 18)))} {
		f.Add(content)
	}
	f.Fuzz(func(t *testing.T, content []byte) {
		if checkWord(content) == nil && len(content) < len("PK\x03\x04[Content_Types].xmlword/document.xml") {
			t.Errorf("%d bytes are a Word document", len(content))
		}
	})
}
