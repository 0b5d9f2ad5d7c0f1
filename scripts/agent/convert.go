package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

const convertTimeout = 2 * time.Minute

var errNoConverter = errors.New("LibreOffice is not installed, so there is nothing to make the PDF with: install it " +
	"(apt-get install libreoffice-writer-nogui); with --stand-in-pdf a page that says so becomes the report's PDF")

// converter returns LibreOffice, or where there is none, and the user wants that, a stand-in that says so on its page.
func converter(mayStandIn bool) (func(ctx context.Context, word, pdf string) error, error) {
	soffice, err := exec.LookPath("soffice")
	switch {
	case err == nil:
		return func(ctx context.Context, word, pdf string) error { return libreOffice(ctx, soffice, word, pdf) }, nil
	case mayStandIn:
		return standIn, nil
	}
	return nil, errNoConverter
}

// libreOffice converts with a profile of its own, so that an open LibreOffice is not in the way.
func libreOffice(ctx context.Context, soffice, word, pdf string) error {
	ctx, cancel := context.WithTimeout(ctx, convertTimeout)
	defer cancel()
	dir := filepath.Dir(pdf)
	profile, err := filepath.Abs(filepath.Join(dir, "profile"))
	if err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, soffice, "-env:UserInstallation=file://"+profile, "--headless", "--convert-to", "pdf",
		"--outdir", dir, word)
	if text, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("LibreOffice could not convert the document: %w: %.500s", err, text)
	}
	made := strings.TrimSuffix(filepath.Join(dir, filepath.Base(word)), filepath.Ext(word)) + ".pdf"
	if made != pdf {
		return os.Rename(made, pdf)
	}
	_, err = os.Stat(pdf)
	return err
}

// standIn writes a page of text.
func standIn(_ context.Context, word, pdf string) error {
	sum, err := hash(word)
	if err != nil {
		return err
	}
	text := "BT /F1 12 Tf 40 800 Td (Stand-in: no converter was there. Word document " + sum[:16] + ") Tj ET"
	var b strings.Builder
	b.WriteString("%PDF-1.4\n")
	offsets := make([]int, 0, 5)
	for i, object := range []string{
		"<</Type /Catalog /Pages 2 0 R>>", "<</Type /Pages /Kids [3 0 R] /Count 1>>",
		"<</Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Contents 4 0 R /Resources <</Font <</F1 5 0 R>>>>>>",
		fmt.Sprintf("<</Length %d>>\nstream\n%s\nendstream", len(text),
			text), "<</Type /Font /Subtype /Type1 /BaseFont /Helvetica>>",
	} {
		offsets = append(offsets, b.Len())
		fmt.Fprintf(&b, "%d 0 obj %s endobj\n", i+1, object)
	}
	table := b.Len()
	fmt.Fprintf(&b, "xref\n0 %d\n0000000000 65535 f \n", len(offsets)+1)
	for _, offset := range offsets {
		fmt.Fprintf(&b, "%010d 00000 n \n", offset)
	}
	fmt.Fprintf(&b, "trailer <</Root 1 0 R /Size %d>>\nstartxref\n%d\n%%%%EOF\n", len(offsets)+1, table)
	return os.WriteFile(pdf, []byte(b.String()), 0o600)
}
