package document_test

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/labplatform/labplatform/pkg/apperr"
	"github.com/labplatform/labplatform/services/externaledit/document"
	"github.com/labplatform/labplatform/services/externaledit/internal/store/storetest"
)

func reason(err error) string {
	if e, ok := apperr.From(err); ok && e.Kind == apperr.Invalid {
		return e.Reason
	}
	if err != nil {
		return err.Error()
	}
	return ""
}

func checkWord(content []byte) error {
	_, err := document.ReadWord(bytes.NewReader(content), int64(len(content)))
	return err
}

// rawZip returns an archive whose headers the test can change.
func rawZip(t *testing.T, change func(*zip.FileHeader), name string, content []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	header := &zip.FileHeader{Name: name, Method: zip.Deflate}
	change(header)
	part, err := w.CreateHeader(header)
	if err != nil {
		t.Fatal(err)
	}
	_, _ = part.Write(content)
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestWordDocuments(t *testing.T) {
	t.Parallel()
	nested := string(storetest.Docx(t, "inner"))
	archive := string(rawZip(t, func(*zip.FileHeader) {}, "setup.exe", []byte("MZ")))
	flip := storetest.Docx(t, strings.Repeat("some text ", 300))
	flip[60] ^= 0xff // a byte inside the first part
	for name, c := range map[string]struct {
		content []byte
		want    string
	}{
		"a plain document":              {storetest.Docx(t, "hello"), ""},
		"a picture":                     {storetest.Docx(t, "x", "word/media/image1.png", "\x89PNG...."), ""},
		"the workbook of a chart":       {storetest.Docx(t, "x", "word/embeddings/Microsoft_Excel_Sheet1.xlsx", nested), ""},
		"a folder":                      {storetest.Docx(t, "x", "word/theme/", ""), ""},
		"no document.xml":               {storetest.Docx(t, "x", "word/document.xml", "-"), "WORD_PART_MISSING"},
		"no content types":              {storetest.Docx(t, "x", "[Content_Types].xml", "-"), "WORD_PART_MISSING"},
		"an archive as picture":         {storetest.Docx(t, "x", "word/media/image1.png", archive), "WORD_NESTED_ARCHIVE"},
		"an embedded archive":           {storetest.Docx(t, "x", "word/embeddings/a.xlsx", archive), "WORD_NESTED_ARCHIVE"},
		"macros":                        {storetest.Docx(t, "x", "word/vbaProject.bin", "x"), "WORD_MACRO"},
		"macros elsewhere, in capitals": {storetest.Docx(t, "x", "custom/VBAPROJECT.BIN", "x"), "WORD_MACRO"},
		"a macro content type": {storetest.Docx(t, "x", "[Content_Types].xml",
			`<Override ContentType="application/vnd.ms-word.document.macroEnabled.main+xml"/>`), "WORD_MACRO"},
		"a path out":               {storetest.Docx(t, "x", "../../etc/cron.d/x", "x"), "WORD_PART_PATH"},
		"an absolute path":         {storetest.Docx(t, "x", "/etc/passwd", "x"), "WORD_PART_PATH"},
		"a Windows path":           {storetest.Docx(t, "x", `word\x`, "x"), "WORD_PART_PATH"},
		"a gigabyte in a megabyte": {storetest.Docx(t, "x", "word/media/a.bmp", strings.Repeat("\x00", 80<<20)), "WORD_BOMB"},
		"an encrypted part": {rawZip(t, func(h *zip.FileHeader) { h.Flags |= 1 }, "word/document.xml", []byte("x")),
			"WORD_ENCRYPTED"},
		"a flipped byte": {flip, "WORD_DAMAGED"},
		"cut short":      {storetest.Docx(t, "hello")[:200], "WORD_DAMAGED"},
		"not a zip":      {[]byte("PK\x03\x04 and nothing"), "WORD_DAMAGED"},
	} {
		if got := reason(checkWord(c.content)); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

// TestPrefixesAreLimited checks that thousands of prefixes in scope are rejected; real documents have few.
func TestPrefixesAreLimited(t *testing.T) {
	t.Parallel()
	for n, want := range map[int]string{200: "", 4000: "WORD_DAMAGED"} {
		declared := ""
		for i := range n {
			declared += fmt.Sprintf(`<a xmlns:p%d="urn:x">`, i)
		}
		if got := reason(checkWord(storetest.Docx(t, declared+strings.Repeat("</a>", n)))); got != want {
			t.Errorf("%d prefixes: %q, want %q", n, got, want)
		}
	}
	repeated := strings.Repeat(`<a xmlns="urn:x">`, 1000) + strings.Repeat("</a>", 1000)
	if err := checkWord(storetest.Docx(t, repeated)); err != nil {
		t.Errorf("a prefix that is repeated: %v", err)
	}
}

// TestAPartOfAnotherSizeThanItsHeaderSaysIsDamage checks that a bomb cannot pass as a small part.
func TestAPartOfAnotherSizeThanItsHeaderSaysIsDamage(t *testing.T) {
	t.Parallel()
	content := storetest.Docx(t, "x", "word/media/a.bmp", strings.Repeat("\x00", 80<<20))
	r, err := zip.NewReader(bytes.NewReader(content), int64(len(content)))
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for _, part := range r.File {
		header := part.FileHeader
		header.UncompressedSize64 = min(header.UncompressedSize64, 1000)
		raw, err := part.OpenRaw()
		if err != nil {
			t.Fatal(err)
		}
		to, err := w.CreateRaw(&header)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.Copy(to, raw); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if got := reason(checkWord(b.Bytes())); got != "WORD_DAMAGED" {
		t.Errorf("%q, want WORD_DAMAGED", got)
	}
}

// TestContentTypesAreLimited checks the maximum length of names and types in the list, also in an embedded document.
func TestContentTypesAreLimited(t *testing.T) {
	t.Parallel()
	list := func(n, length int) []byte {
		var pairs []string
		for i := range n {
			pairs = append(pairs, fmt.Sprintf("/%0*d", length, i), strings.Repeat("t", length))
		}
		return storetest.Docx(t, "x", "[Content_Types].xml", override(pairs...))
	}
	for _, c := range []struct {
		n, length int
		want      string
	}{{200, 100, ""}, {1, 1000, "WORD_DAMAGED"}} {
		content := list(c.n, c.length)
		for _, content := range [][]byte{content, storetest.Docx(t, "x", "word/embeddings/a.docx", string(content))} {
			if got := reason(checkWord(content)); got != c.want {
				t.Errorf("%d types of %d bytes: %q, want %q", c.n, c.length, got, c.want)
			}
		}
	}
}

type brokenReader struct{}

func (brokenReader) ReadAt([]byte, int64) (int, error) { return 0, errStore }

var errStore = errors.New("the store does not answer")

func TestAStoreThatFailsIsNotTheDocumentsFault(t *testing.T) {
	t.Parallel()
	if _, err := document.ReadWord(brokenReader{}, 1000); !errors.Is(err, errStore) {
		t.Errorf("got %v, want errStore", err)
	}
}

func TestNamesTypesAndHeads(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("a", 250) + ".docx"
	for name, want := range map[string]string{
		"report.docx": "", "Report.DOCX": "", "रिपोर्ट ७.docx": "", "Bericht Müller: 10.docx": "", long: "",
		"": "FILE_NAME_MISSING", long + "x": "FILE_NAME_TOO_LONG", "../../etc/passwd.docx": "FILE_NAME_INVALID",
		`C:\reports\x.docx`: "FILE_NAME_INVALID", "a\x00.docx": "FILE_NAME_INVALID", "\xff.docx": "FILE_NAME_INVALID",
		"report.docx.exe": "FILE_TYPE_INVALID", "report": "FILE_TYPE_INVALID", "report.pdf": "FILE_TYPE_INVALID", "report.docm": "FILE_TYPE_INVALID",
	} {
		if got := reason(document.Word.CheckName(name)); got != want {
			t.Errorf("%q: %q, want %q", name, got, want)
		}
	}
	for _, c := range []struct {
		kind     document.Kind
		declared string
		want     string
	}{
		{document.Word, document.Word.ContentType, ""}, {document.Word, document.Word.ContentType + "; charset=binary", ""},
		{document.Word, "application/octet-stream", ""}, {document.PDF, "application/pdf", ""},
		{document.Word, "application/msword", "CONTENT_TYPE_INVALID"}, {document.Word, "", "CONTENT_TYPE_INVALID"},
		{document.PDF, "application/octet-stream", "CONTENT_TYPE_INVALID"}, {document.PDF, "text/html",
			"CONTENT_TYPE_INVALID"},
	} {
		if got := reason(c.kind.CheckContentType(c.declared)); got != c.want {
			t.Errorf("%s %q: %q, want %q", c.kind.Field, c.declared, got, c.want)
		}
	}
	for _, c := range []struct {
		kind document.Kind
		head string
		want string
	}{
		{document.Word, "PK\x03\x04...", ""}, {document.PDF, "%PDF-1.4", ""}, {document.PDF, "\n\njunk%PDF-1.4", ""},
		{document.Word, "MZ\x90", "SIGNATURE_INVALID"}, {document.Word, "", "FILE_EMPTY"}, {document.PDF, "PK\x03\x04",
			"SIGNATURE_INVALID"},
		{document.Word, "%PDF-1.4", "SIGNATURE_INVALID"}, {document.Word, "\xD0\xCF\x11\xE0\xA1\xB1\x1A\xE1",
			"WORD_ENCRYPTED"},
	} {
		if got := reason(c.kind.CheckHead([]byte(c.head))); got != c.want {
			t.Errorf("%s %q: %q, want %q", c.kind.Field, c.head, got, c.want)
		}
	}
}

// manyEntries returns an archive whose list of parts has n entries without content.
func manyEntries(n int) []byte {
	header := []byte("PK\x03\x04" + strings.Repeat("\x00", 26))
	entry := append([]byte("PK\x01\x02"), make([]byte, 42)...)
	binary.LittleEndian.PutUint16(entry[28:], 1)
	entry = append(entry, 'a')
	end := append([]byte("PK\x05\x06"), make([]byte, 18)...)
	binary.LittleEndian.PutUint16(end[8:], uint16(n))
	binary.LittleEndian.PutUint16(end[10:], uint16(n))
	binary.LittleEndian.PutUint32(end[12:], uint32(n*len(entry)))
	binary.LittleEndian.PutUint32(end[16:], uint32(len(header)))
	return slices.Concat(header, bytes.Repeat(entry, n), end)
}

// TestTheListOfPartsIsLimitedBeforeItIsRead checks that 48 MiB of entries cost less than 20 MiB of memory.
func TestTheListOfPartsIsLimitedBeforeItIsRead(t *testing.T) {
	file := manyEntries(1_000_000)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	err := checkWord(file)
	runtime.ReadMemStats(&after)
	if got := reason(err); got != "WORD_TOO_MANY_PARTS" {
		t.Errorf("%d bytes: %s, want WORD_TOO_MANY_PARTS", len(file), got)
	}
	if grown := (after.TotalAlloc - before.TotalAlloc) >> 20; grown > 20 {
		t.Errorf("%d MiB were allocated, want at most 20", grown)
	} else {
		t.Logf("%d MiB for a file of %d MiB", grown, len(file)>>20)
	}
}
