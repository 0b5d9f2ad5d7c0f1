package main

import (
	"archive/zip"
	"bytes"
	"compress/zlib"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/labplatform/labplatform/services/externaledit/document"
)

// realLibreOffice returns the converter that LAB_SOFFICE names. `devstack libreoffice` downloads one and prints its
// path.
func realLibreOffice(t *testing.T) libreOffice {
	t.Helper()
	soffice := os.Getenv("LAB_SOFFICE")
	if soffice == "" {
		t.Skip("LAB_SOFFICE names no LibreOffice: make test-libreoffice runs this")
	}
	return libreOffice{soffice, time.Minute, newFamily}
}

// made converts the document in a slot below the folder and returns the PDF.
func made(t *testing.T, l libreOffice, root, document string, final bool) []byte {
	t.Helper()
	s, err := slots{root}.take()
	if err != nil {
		t.Fatal(err)
	}
	defer s.release()
	if err := os.WriteFile(s.word(), []byte(document), 0o600); err != nil {
		t.Fatal(err)
	}
	shown := s.word()
	if final {
		a := &agent{final: true}
		if shown, err = a.shown(s); err != nil {
			t.Fatal(err)
		}
	}
	if err := l.convert(t.Context(), s, shown); err != nil {
		t.Fatal(err)
	}
	pdf, err := os.ReadFile(s.pdf())
	if err != nil {
		t.Fatal(err)
	}
	return pdf
}

func TestLibreOfficeConvertsInEveryFolder(t *testing.T) {
	l := realLibreOffice(t)
	for _, name := range folderNames {
		t.Run(name, func(t *testing.T) {
			begin := time.Now()
			pdf := made(t, l, filepath.Join(t.TempDir(), name), wordDocument(t, textRun("Befund")), false)
			t.Logf("%d bytes after %s", len(pdf), time.Since(begin).Round(time.Millisecond))
		})
	}
}

// characters returns the mapped characters of a PDF's fonts as hexadecimal numbers. These are the characters that a
// reader can copy.
func characters(t *testing.T, pdf []byte) string {
	t.Helper()
	var all strings.Builder
	for rest := pdf; ; {
		at := bytes.Index(rest, []byte("stream\n"))
		if at < 0 {
			return all.String()
		}
		rest = rest[at+len("stream\n"):]
		inflater, err := zlib.NewReader(bytes.NewReader(rest))
		if err != nil {
			continue // the stream is not compressed
		}
		text, _ := io.ReadAll(inflater) // fails at the end, because more data follows the stream
		if bytes.Contains(text, []byte("beginbfchar")) {
			all.Write(text)
		}
	}
}

const (
	tracked = `<w:del w:id="1" w:author="A"><w:r><w:delText>ΩΩΩ</w:delText></w:r></w:del>` +
		`<w:ins w:id="2" w:author="A"><w:r><w:t>ΨΨΨ</w:t></w:r></w:ins>`
	omega, psi = "<03A9>", "<03A8>"
)

func TestLibreOfficeShowsTheFinalView(t *testing.T) {
	l := realLibreOffice(t)
	document := wordDocument(t, textRun("Befund ")+tracked)
	shown := characters(t, made(t, l, t.TempDir(), document, false))
	if !strings.Contains(shown, omega) || !strings.Contains(shown, psi) {
		t.Fatalf("the test does not see the text: %s", shown)
	}
	final := characters(t, made(t, l, t.TempDir(), document, true))
	if strings.Contains(final, omega) || !strings.Contains(final, psi) {
		t.Errorf("the final view has the characters %s", final)
	}
}

func withComment(t *testing.T, document string) string {
	t.Helper()
	r, err := zip.NewReader(strings.NewReader(document), int64(len(document)))
	if err != nil {
		t.Fatal(err)
	}
	const space = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	write := func(name, text string) {
		to, err := w.Create(name)
		if err == nil {
			_, err = io.WriteString(to, text)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, part := range r.File {
		content, err := part.Open()
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(content)
		if err != nil {
			t.Fatal(err)
		}
		write(part.Name, strings.Replace(string(text), "</Types>", `<Override PartName="/word/comments.xml" `+
			`ContentType="application/vnd.openxmlformats-officedocument.wordprocessingml.comments+xml"/></Types>`, 1))
	}
	write("word/_rels/document.xml.rels", `<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">`+
		`<Relationship Id="rId1" Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/comments" Target="comments.xml"/></Relationships>`)
	write("word/comments.xml", `<w:comments xmlns:w="`+space+`"><w:comment w:id="0" w:author="A" w:initials="A">`+
		`<w:p><w:r><w:t>ΩΩΩ</w:t></w:r></w:p></w:comment></w:comments>`)
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestLibreOfficeLeavesCommentsOut(t *testing.T) {
	l := realLibreOffice(t)
	document := withComment(t, wordDocument(t, `<w:commentRangeStart w:id="0"/>`+textRun("Befund")+`<w:commentRangeEnd w:id="0"/>`+
		`<w:r><w:commentReference w:id="0"/></w:r>`))
	pdf := made(t, l, t.TempDir(), document, false)
	if bytes.Contains(pdf, []byte("/Annot")) || strings.Contains(characters(t, pdf), omega) {
		t.Error("the comment is in the PDF")
	}
}

// The test checks that the document keeps the report's id when an author saves it in LibreOffice.
func TestLibreOfficeKeepsTheIDOfTheReport(t *testing.T) {
	l, dir := realLibreOffice(t), t.TempDir()
	plain := wordDocument(t, textRun("Befund"))
	var copied bytes.Buffer
	if err := document.CopyFor(7001, &copied, strings.NewReader(plain), int64(len(plain))); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, documentName)
	if err := os.WriteFile(path, copied.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	out := filepath.Join(dir, "out")
	if said, err := exec.CommandContext(t.Context(), l.soffice, "-env:UserInstallation="+fileURL(filepath.Join(dir, "profile")),
		"--headless", "--convert-to", "docx", "--outdir", out, path).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, said)
	}
	saved, err := os.ReadFile(filepath.Join(out, documentName))
	if err != nil {
		t.Fatal(err)
	}
	facts, err := document.ReadWord(bytes.NewReader(saved), int64(len(saved)))
	if err != nil || facts.ReportID != 7001 {
		t.Errorf("it saved a document of report %d, %v, want 7001", facts.ReportID, err)
	}
}

// A real conversion takes longer than the limit. All its processes must end, and the next conversion must work.
func TestLibreOfficeIsEndedAtTheLimit(t *testing.T) {
	l := realLibreOffice(t)
	root := t.TempDir()
	hurried := l
	hurried.limit = 200 * time.Millisecond
	s, err := slots{root}.take()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(s.word(), []byte(wordDocument(t, textRun("Befund"))), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := hurried.convert(t.Context(), s, s.word()); err == nil || !strings.Contains(err.Error(), "did not finish") {
		t.Errorf("%v", err)
	}
	s.release()
	programs, _ := filepath.Glob("/proc/[0-9]*/cmdline") // Glob fails only for a malformed pattern
	for _, program := range programs {
		if line, _ := os.ReadFile(program); bytes.Contains(line, []byte(root)) {
			t.Errorf("it lives on: %q", line)
		}
	}
	made(t, l, root, wordDocument(t, textRun("Befund")), false)
}
