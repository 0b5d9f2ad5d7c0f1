package document_test

import (
	"archive/zip"
	"bytes"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/labplatform/labplatform/pkg/testkit/allocation"
	"github.com/labplatform/labplatform/services/externaledit/internal/store/storetest"
)

// FuzzAPDFIsJudgedAlikeInAnyPieces checks that the verdict on any file does not depend on the pieces in which it
// arrives, and needs little memory.
func FuzzAPDFIsJudgedAlikeInAnyPieces(f *testing.F) {
	script := "<< /S /JavaScript /JS (app.alert(1)) >>"
	for _, text := range []string{
		"", "%PDF-1.7\n%%EOF", "%PDF-1.7\n/#4a#61vaScript%%EOF", "%PDF-1.4\n/Launch", "/ObjStm stream\r\nx\xdaendstream%%EOF",
		objectStream(script) + "%%EOF", "/ObjStm /ObjStm stream\nstream\n" + deflated("/EmbeddedFile") + "endstream",
		fmt.Sprintf("1 0 obj<</Type/ObjStm/Filter/ASCIIHexDecode>>stream\n31 30 20 30 20 %x>\nendstream%%EOF", script),
		"1 0 obj<</Type/ObjStm/X(" + strings.Repeat("A", 5000) + ")>>stream\n" + deflated("1 0 "+script) + "\nendstream%EOF",
		"1 0 obj<</S/Rendition/JS(app.alert(1))>>endobj%%EOF", "/ObjStm stream\n1 0 <<>> endstream%%EOF",
		strings.Repeat("/ObjStm stream\n"+deflated("1 0 <<>>")+"endstream ", 200) + "%%EOF",
	} {
		f.Add([]byte(text), 1)
		f.Add([]byte(text), 7)
	}
	f.Add(storetest.PDF("<< /Type /Catalog >>"), 300)
	f.Fuzz(func(t *testing.T, content []byte, piece int) {
		if piece < 1 || len(content) > 1<<16 {
			t.Skip()
		}
		var whole string
		allocation.AtMost(t, 2<<20+64*len(content), func() { whole = reason(scan(content, len(content)+1)) })
		if pieces := reason(scan(content, piece)); whole != pieces {
			t.Errorf("%q as a whole, %q in pieces of %d", whole, pieces, piece)
		}
	})
}

// wordMemory is what the check of a document may allocate in addition to a multiple of its size. The list of content
// types alone may need 4 MiB.
const wordMemory = 32 << 20

// FuzzAWordDocumentIsJudged checks that any file is checked within bounds and without a panic, and that only Word
// documents are accepted.
func FuzzAWordDocumentIsJudged(f *testing.F) {
	for _, content := range [][]byte{
		nil, []byte("PK\x03\x04"), []byte("PK\x05\x06" + string(make([]byte, 18))), manyEntries(100),
		storetest.Docx(f, "x"), storetest.Docx(f, "x", "word/embeddings/book.xlsx", string(storetest.Docx(f, "inner"))),
		storetest.Docx(f, "x", "word/media/a.bmp", strings.Repeat("\x00", 1<<20)),
	} {
		f.Add(content)
	}
	f.Fuzz(func(t *testing.T, content []byte) {
		var err error
		allocation.AtMost(t, wordMemory+64*len(content), func() { err = checkWord(content) })
		if err == nil && len(content) < len("PK\x03\x04[Content_Types].xmlword/document.xml") {
			t.Errorf("%d bytes are a Word document", len(content))
		}
	})
}

// FuzzThePartsOfAWordDocumentAreJudged checks that a document is accepted only if it has both main parts, and if none
// of its parts is a macro or leaves the document.
func FuzzThePartsOfAWordDocumentAreJudged(f *testing.F) {
	f.Add("word/document.xml", `<w:document xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"/>`,
		"_rels/.rels", `<Relationships><Relationship Type="/officeDocument" Target="word/document.xml"/></Relationships>`, 1)
	f.Add("word/document.xml", "<w:p/>", "word/vbaProject.bin", "x", 1)
	f.Add("word/document.xml", "<w:p/>", "word/_rels/document.xml.rels",
		`<Relationship Type="oleObject" Target="mhtml:https://example.org/x.html!x-usc:https://example.org/x.html" TargetMode="External"/>`, 1)
	f.Add("word/document.xml", "<w:p/>", "word/_rels/settings.xml.rels",
		`<Relationship Type="attachedTemplate" Target="https://example.org/x.dotm" TargetMode="External"/>`, 1)
	f.Add("[Content_Types].xml", "macroEnabled", "word/document.xml", "", 500)
	f.Add("word/embeddings/a.xlsx", "PK\x03\x04", "../x", "x", 3)
	f.Fuzz(func(t *testing.T, first, firstText, second, secondText string, times int) {
		if times < 1 || times > 1<<12 || len(firstText)*times > 8<<20 {
			t.Skip()
		}
		var b bytes.Buffer
		w := zip.NewWriter(&b)
		for _, part := range [][2]string{
			storetest.Parts("")[0], {first, strings.Repeat(firstText, times)}, {second, secondText},
		} {
			to, err := w.Create(part[0])
			if err != nil {
				t.Skip() // not a valid name in an archive
			}
			if _, err := io.WriteString(to, part[1]); err != nil {
				t.Skip() // a folder cannot have content
			}
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		var err error
		allocation.AtMost(t, wordMemory+64*b.Len(), func() { err = checkWord(b.Bytes()) })
		if err != nil {
			return
		}
		for _, name := range []string{first, second} {
			if lower := strings.ToLower(name); strings.HasPrefix(name, "/") || strings.Contains(name, "..\\") ||
				strings.HasPrefix(name, "../") || strings.HasSuffix("/"+lower, "/vbaproject.bin") {
				t.Errorf("a document with a part %q passes", name)
			}
		}
		if first != "word/document.xml" && second != "word/document.xml" {
			t.Errorf("a document of %q and %q passes", first, second)
		}
	})
}

// FuzzAnyXMLIsReadInBoundedMemory checks that any content of a part is read within bounds and without a panic.
func FuzzAnyXMLIsReadInBoundedMemory(f *testing.F) {
	for _, text := range []string{
		"<a/>", "<a><b c='1'>x</b></a>", `<?xml version="1.0"?><!-- c --><w:document xmlns:w="urn:w"><![CDATA[<]]>&amp;&#65;</w:document>`,
		"<a", "<a b=>", "<a></b>", "</a>", "<!DOCTYPE a><a/>", "<a>&nbsp;</a>", "\xff\xfe<\x00a\x00/\x00>\x00", "<a b='" + strings.Repeat("x", 9000) + "'/>",
		strings.Repeat("<a>", 5000), strings.Repeat("<a/>", 5000), "<a xmlns:b='1' b:c='2'/>",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if len(text) > 1<<16 {
			t.Skip()
		}
		content := storetest.Docx(t, "", "word/document.xml", text)
		allocation.AtMost(t, 4<<20+32*len(content), func() { _ = checkWord(content) })
	})
}
