package main

import (
	"os"
	"path/filepath"
	"testing"
)

// TestRefusedContentOfAPDFIsFinal checks that a document is not converted again after its PDF was refused, because the
// PDF would be the same.
func TestRefusedContentOfAPDFIsFinal(t *testing.T) {
	t.Parallel()
	const end = " >>\nendobj\ntrailer << /Root 1 0 R >>\n%%EOF\n"
	for name, c := range map[string]struct {
		pdf   string
		again bool
	}{
		"JavaScript": {"%PDF-1.7\n1 0 obj\n<< /S /JavaScript /JS (app.alert(1))" + end, false},
		"launch":     {"%PDF-1.7\n1 0 obj\n<< /S /Launch /F (calc.exe)" + end, false},
		"incomplete": {"%PDF-1.7\n1 0 obj\n<< /Type /Catalog", true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "report.pdf")
			if err := os.WriteFile(path, []byte(c.pdf), 0o600); err != nil {
				t.Fatal(err)
			}
			err := checkPDF(path, "")
			if err == nil {
				t.Fatal("accepted")
			}
			if _, again := patience(err, 0); again != c.again {
				t.Errorf("tried again: %t, want %t, after %v", again, c.again, err)
			}
		})
	}
}
