package storetest

import (
	"archive/zip"
	"bytes"
	"io"
	"testing"
)

const mainType = "application/vnd.openxmlformats-officedocument.wordprocessingml.document.main+xml"

// Parts returns the names and contents of the parts that a Word document with this text needs.
func Parts(text string) [][2]string {
	return [][2]string{
		{"[Content_Types].xml", `<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">` +
			`<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>` +
			`<Default Extension="xml" ContentType="application/xml"/>` +
			`<Override PartName="/word/document.xml" ContentType="` + mainType + `"/></Types>`},
		{"_rels/.rels", `<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">` +
			`<Relationship Id="rId1" Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/officeDocument"` +
			` Target="word/document.xml"/></Relationships>`},
		{"word/document.xml", `<w:document xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main">` + text +
			"</w:document>"},
	}
}

// Docx returns a Word document with this text. parts are names and contents of parts to add or replace; the content "-"
// removes a part.
func Docx(t testing.TB, text string, parts ...string) []byte {
	t.Helper()
	var names []string
	contents := map[string]string{}
	for _, part := range Parts(text) {
		names, contents[part[0]] = append(names, part[0]), part[1]
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

// PDF returns a PDF with one object and the given lines.
func PDF(lines string) []byte {
	return []byte("%PDF-1.7\n1 0 obj <</Type /Catalog>> endobj\n" + lines + "\ntrailer <</Root 1 0 R>>\n%%EOF\n")
}
