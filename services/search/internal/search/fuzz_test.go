package search

import (
	"testing"
	"time"
)

// FuzzACursorIsReadAsItWasWritten checks that an encoded cursor is decoded unchanged, and that other texts are
// rejected.
func FuzzACursorIsReadAsItWasWritten(f *testing.F) {
	q := Query{Text: "rahul", Key: "all"}
	f.Add(Cursor{Score: 12.5, UserID: 501, Origin: time.Unix(1790000000, 0)}.Encode(q))
	f.Add("")
	f.Add("AAAA")
	f.Fuzz(func(t *testing.T, text string) {
		c, err := decodeCursor(text, q)
		if err != nil {
			return
		}
		if again, err := decodeCursor(c.Encode(q), q); err != nil || again != c {
			t.Errorf("%q is %+v, and again %+v, %v", text, c, again, err)
		}
	})
}
