package main

import (
	"context"
	"fmt"
	"os"
	"strings"
)

// standIn writes a PDF with one page of text.
func standIn(_ context.Context, s slot, word string) error {
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
	return os.WriteFile(s.pdf(), []byte(b.String()), 0o600)
}
