package storetest

import (
	"archive/zip"
	"bytes"
	"io"
	"testing"
)

// Docx is a Word document that says text. Further arguments are names and contents of parts, which are added, replace
// others, or with the content "-" leave them out.
func Docx(t testing.TB, text string, parts ...string) []byte {
	t.Helper()
	names := []string{"[Content_Types].xml", "word/document.xml"}
	contents := map[string]string{
		"[Content_Types].xml": `<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types"/>`,
		"word/document.xml":   "<document>" + text + "</document>",
	}
	for i := 0; i+1 < len(parts); i += 2 {
		if _, known := contents[parts[i]]; !known {
			names = append(names, parts[i])
		}
		contents[parts[i]] = parts[i+1]
	}
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for _, name := range names {
		if contents[name] == "-" {
			continue
		}
		part, err := w.Create(name)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(part, contents[name]); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// PDF is a document of one object and the given lines.
func PDF(lines string) []byte {
	return []byte("%PDF-1.7\n1 0 obj <</Type /Catalog>> endobj\n" + lines + "\ntrailer <</Root 1 0 R>>\n%%EOF\n")
}
