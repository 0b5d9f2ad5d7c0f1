package e2e

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/labplatform/labplatform/pkg/testkit/await"
)

// wantSaid waits until the agent has printed a sentence.
func (d *desktop) wantSaid(sentence string) {
	d.t.Helper()
	await.Nil(d.t, sentence, func() error {
		if said := d.said(); !strings.Contains(said, sentence) {
			return fmt.Errorf("the agent said\n%s", said)
		}
		return nil
	})
}

// put saves content as the document.
func (d *desktop) put(content []byte) {
	d.t.Helper()
	if err := os.WriteFile(filepath.Join(d.dir, "report.docx"), content, 0o600); err != nil {
		d.t.Fatal(err)
	}
}

// TestExternalEditWithLibreOffice works like a pathologist, with the real LibreOffice that LAB_SOFFICE names, in a
// folder with an unusual name. The agent must print the platform's message for every invalid document, and the stored
// files must stay those of the last valid one.
func TestExternalEditWithLibreOffice(t *testing.T) {
	t.Parallel()
	soffice := os.Getenv("LAB_SOFFICE")
	if soffice == "" {
		t.Skip("LAB_SOFFICE names no LibreOffice: make test-libreoffice runs this")
	}
	binary, asha, report := buildAgent(t), editor(t, 12, "report_edit"), editReport(t)
	dir := filepath.Join(t.TempDir(), "Ärzte 50% #1 [प्र] $HOME")
	agent := startAgent(t, binary, asha, dir, os.Getenv("PATH"), report, "--soffice", soffice)
	paragraph := func(text string) []byte {
		return docx(t, "<w:body><w:p><w:r><w:t>"+text+"</w:t></w:r></w:p></w:body>")
	}
	good := paragraph("Gleason 3+4=7")
	agent.put(good)
	agent.wantRevisions(asha, report, 1)
	tracked := docx(t, `<w:body><w:p><w:ins w:id="1" w:author="A"><w:r><w:t>x</w:t></w:r></w:ins></w:p></w:body>`)
	for _, c := range []struct {
		content  []byte
		sentence string
	}{
		{[]byte("\xD0\xCF\x11\xE0\xA1\xB1\x1A\xE1" + strings.Repeat("\x00", 600)), "is protected by a password"},
		{good[:len(good)-100], "is damaged: its list of parts cannot be read"},
		{tracked, "accept or reject them"},
		{docx(t, "x", "word/vbaProject.bin", "x"), "contains macros"},
	} {
		agent.put(c.content)
		agent.wantSaid(c.sentence)
	}
	agent.wantRevisions(asha, report, 1)
	better := paragraph("Gleason 4+3=7")
	agent.put(better)
	agent.wantRevisions(asha, report, 2)
	if err := agent.cmd.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	if err := agent.cmd.Wait(); err != nil {
		t.Errorf("%v: got %s, want no error", err, agent.said())
	}
	final := startAgent(t, binary, asha, dir, os.Getenv("PATH"), report, "--soffice", soffice, "--tracked-changes", "final")
	final.put(tracked)
	final.wantRevisions(asha, report, 3)
	var word, pdf string
	queryRow(t, "SELECT wordFilePath, pdfFilePath FROM labReportRelation WHERE id = ?", report).scan(&word, &pdf)
	if content := object(t, pdf); !bytes.HasPrefix(content, []byte("%PDF-")) || bytes.Contains(content, []byte("Stand-in")) {
		t.Errorf("not LibreOffice's: %.100q", content)
	}
	if content := object(t, word); !bytes.Equal(content, tracked) {
		t.Error("the stored Word document is not the one that was saved")
	}
	t.Logf("the author saw\n%s%s", agent.said(), final.said())
}

// TestExternalEditADocumentOfAnotherReportIsRefused copies the document of one report into the folder of another. The
// agent must refuse it.
func TestExternalEditADocumentOfAnotherReportIsRefused(t *testing.T) {
	t.Parallel()
	binary, asha := buildAgent(t), editor(t, 12, "report_edit")
	first, second := editReport(t), editReport(t)
	one := startAgent(t, binary, asha, filepath.Join(t.TempDir(), "one"), "/nowhere", first)
	other := startAgent(t, binary, asha, filepath.Join(t.TempDir(), "other"), "/nowhere", second)
	document, err := os.ReadFile(filepath.Join(one.dir, "report.docx"))
	if err != nil {
		t.Fatal(err)
	}
	other.put(document)
	other.wantSaid("is that of another report")
	other.wantRevisions(asha, second, 0)
	// A comment at the end of the archive changes the content of the document.
	one.put(append(append(bytes.Clone(document[:len(document)-2]), 5, 0), "saved"...))
	one.wantRevisions(asha, first, 1)
}

// TestExternalEditThePagesSessionIsContinuedByTheAgent opens the session as the page does. The agent must continue it.
func TestExternalEditThePagesSessionIsContinuedByTheAgent(t *testing.T) {
	t.Parallel()
	binary, asha, report := buildAgent(t), editor(t, 12, "report_edit"), editReport(t)
	id, _ := openSession(t, asha, report, creation)
	agent := startAgent(t, binary, asha, t.TempDir(), "/nowhere", report)
	agent.wantSaid(fmt.Sprintf("session %d of report %d is open", id, report))
	agent.edit("one")
	agent.wantRevisions(asha, report, 1)
}
