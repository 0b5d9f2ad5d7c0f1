package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/labplatform/labplatform/pkg/apperr"
	"github.com/labplatform/labplatform/services/externaledit/document"
)

const (
	convertTimeout = 2 * time.Minute
	// endTimeout limits the wait for the output of a program that was ended.
	endTimeout = time.Second
)

// libreOffice converts documents with the program soffice.
type libreOffice struct {
	soffice string
	limit   time.Duration
	family  func() family
}

// convert makes the PDF of word, a document in the slot, and ends every process that LibreOffice started.
func (l libreOffice) convert(ctx context.Context, s slot, word string) error {
	if err := writeSettings(s.profile()); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, l.limit)
	defer cancel()
	var said tail
	// The names are relative: LibreOffice reads a path with a percent sign as a URL.
	cmd := exec.CommandContext(context.WithoutCancel(ctx), l.soffice, "-env:UserInstallation="+fileURL(s.profile()),
		"--headless", "--norestore", "--convert-to", "pdf", "--outdir", relative(word, s.pdf()), filepath.Base(word))
	cmd.Dir, cmd.Stdout, cmd.Stderr = filepath.Dir(word), &said, &said
	err := runFamily(ctx, cmd, l.family(), s.lock)
	switch {
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return fmt.Errorf("LibreOffice did not finish within %s and was ended; if it happens again, save the document as"+
			" another .docx, or restart the computer", l.limit)
	case ctx.Err() != nil:
		return ctx.Err()
	case err != nil && !errors.Is(err, exec.ErrWaitDelay): // it ended, then its remaining processes
		err = fmt.Errorf("LibreOffice could not convert the document: %w: %s", err, said.text())
	default:
		err = checkPDF(s.pdf(), said.text())
	}
	if err == nil {
		return nil
	}
	if full := probe(s.pdf() + ".probe"); full != nil {
		return fmt.Errorf("LibreOffice could not write the PDF: %w; make room on the disk", full)
	}
	return err
}

// relative returns the folder of pdf relative to the folder of word.
func relative(word, pdf string) string {
	dir, err := filepath.Rel(filepath.Dir(word), filepath.Dir(pdf))
	if err != nil {
		return filepath.Dir(pdf)
	}
	return dir
}

// checkPDF checks the file that LibreOffice wrote, because LibreOffice exits without an error even when the disk is
// full.
func checkPDF(path, said string) error {
	file, err := os.Open(path)
	if errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("LibreOffice made no PDF of the document; it said: %s", said)
	}
	if err != nil {
		return err
	}
	defer file.Close()
	scanner := &document.PDFScanner{}
	_, err = io.Copy(scanner, file)
	if err == nil {
		err = scanner.Finish()
	}
	if err == nil {
		return nil
	}
	unusable := fmt.Errorf("LibreOffice wrote a PDF that cannot be used: %s", sentence(err.Error()))
	if isRefusedContent(err) {
		return &unfit{fmt.Errorf("%w; remove it from the document", unusable)}
	}
	return unusable
}

// isRefusedContent reports whether the PDF is complete but has content that is not allowed: another conversion would
// produce it again. A damaged or incomplete PDF may come from a full disk or an ended program.
func isRefusedContent(err error) bool {
	refusal, ok := apperr.From(err)
	return ok && refusal.Kind == apperr.Invalid && refusal.Reason != "PDF_INCOMPLETE" && refusal.Reason != "PDF_DAMAGED"
}

// probe checks whether the disk has room for a file of some size.
func probe(path string) error {
	const size = 1 << 20
	defer os.Remove(path)
	return os.WriteFile(path, make([]byte, size), 0o600)
}

// family is a program and all processes that it starts, as the operating system groups them.
type family interface {
	// prepare is called before the start. Where possible, the processes inherit the lock.
	prepare(cmd *exec.Cmd, lock *os.File)
	started(p *os.Process) error
	// end ends all remaining processes. It may be called repeatedly and concurrently.
	end() error
}

// runFamily runs the program until it ends or ctx ends, then ends all of its processes. cmd must have a context that
// does not end.
func runFamily(ctx context.Context, cmd *exec.Cmd, f family, lock *os.File) error {
	f.prepare(cmd, lock)
	cmd.WaitDelay = endTimeout // a process that left the group may keep the output open
	if err := cmd.Start(); err != nil {
		return err
	}
	if err := f.started(cmd.Process); err != nil {
		return errors.Join(err, cmd.Process.Kill(), cmd.Wait())
	}
	stop := context.AfterFunc(ctx, func() { _ = f.end() }) // called again below, for its error
	defer stop()
	return errors.Join(cmd.Wait(), f.end())
}

// tail keeps the end of a program's output.
type tail struct{ b bytes.Buffer }

const maxTail = 500

func (t *tail) Write(p []byte) (int, error) {
	t.b.Write(p[max(0, len(p)-maxTail):])
	t.b.Next(max(0, t.b.Len()-maxTail))
	return len(p), nil
}

func (t *tail) text() string {
	if text := strings.TrimSpace(t.b.String()); text != "" {
		return text
	}
	return "nothing"
}

// fileURL converts a path of Windows or another system into a URL. It escapes every character with a meaning in URLs or
// in LibreOffice's settings.
func fileURL(path string) string {
	if !strings.HasPrefix(path, "/") { // a Windows path
		path = strings.ReplaceAll(path, `\`, "/")
		path = strings.Replace(path, "//?/UNC/", "//", 1)
		path = strings.TrimPrefix(path, "//?/")
		if !strings.HasPrefix(path, "//") { // on a drive, not on a share
			path = "///" + path
		}
	} else {
		path = "//" + path
	}
	var b strings.Builder
	b.WriteString("file:")
	for _, c := range []byte(path) {
		if c < 0x80 && (isLetterOrDigit(c) || strings.IndexByte("/:-._~", c) >= 0) {
			b.WriteByte(c)
			continue
		}
		fmt.Fprintf(&b, "%%%02X", c)
	}
	return b.String()
}

func isLetterOrDigit(c byte) bool {
	return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z')
}

// settings are LibreOffice's settings for every conversion: no comments in the PDF, no macros, no downloads for the
// document.
var settings = []struct{ path, name, value string }{
	{"/org.openoffice.Office.Common/Filter/PDF/Export", "ExportNotes", "false"},
	{"/org.openoffice.Office.Common/Filter/PDF/Export", "ExportNotesInMargin", "false"},
	{"/org.openoffice.Office.Common/Security/Scripting", "MacroSecurityLevel", "3"},
	{"/org.openoffice.Office.Common/Security/Scripting", "DisableMacrosExecution", "true"},
	{"/org.openoffice.Office.Common/Security/Scripting", "BlockUntrustedRefererLinks", "true"},
	{"/org.openoffice.Office.Writer/Content/Update", "Link", "0"},
}

// writeSettings writes LibreOffice's settings before each conversion, because LibreOffice changes the file.
func writeSettings(profile string) error {
	var b strings.Builder
	b.WriteString(`<?xml version="1.0" encoding="UTF-8"?>` + "\n" +
		`<oor:items xmlns:oor="http://openoffice.org/2001/registry" xmlns:xs="http://www.w3.org/2001/XMLSchema">` + "\n")
	for _, s := range settings {
		fmt.Fprintf(&b, `<item oor:path=%q><prop oor:name=%q oor:op="fuse"><value>%s</value></prop></item>`+"\n",
			s.path, s.name, s.value)
	}
	b.WriteString("</oor:items>\n")
	user := filepath.Join(profile, "user")
	if err := os.MkdirAll(user, 0o700); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(user, "registrymodifications.xcu"), []byte(b.String()), 0o600)
}
