// Package page writes docs/reliability.md. Each program that measures something writes its own part and does not change
// the others.
package page

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"text/template"
	"time"
)

// Text executes a template with figures and returns a part of the page. The template can use s (a duration in seconds),
// ms (a duration in milliseconds) and mb (bytes in MiB).
func Text(part, text string, figures any) (string, error) {
	t, err := template.New(part).Funcs(template.FuncMap{
		"s":  func(d time.Duration) string { return fmt.Sprintf("%.1f s", d.Seconds()) },
		"ms": func(d time.Duration) string { return fmt.Sprintf("%.1f", d.Seconds()*1000) },
		"mb": func(b float64) string { return fmt.Sprintf("%.0f", b/(1<<20)) },
	}).Parse(text)
	if err != nil {
		return "", err
	}
	var written bytes.Buffer
	if err := t.Execute(&written, figures); err != nil {
		return "", err
	}
	return strings.TrimSpace(written.String()), nil
}

// Write replaces a part of the page at path: the text between the two comments with the part's name. A page without
// these comments is an error.
func Write(path, part, text string, figures any) error {
	written, err := Text(part, text, figures)
	if err != nil {
		return err
	}
	page, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	begin, end := "<!-- "+part+" -->\n", "<!-- end of "+part+" -->\n"
	head, rest, found := strings.Cut(string(page), begin)
	_, tail, closed := strings.Cut(rest, end)
	if !found || !closed {
		return fmt.Errorf("%s has no part %s", path, part)
	}
	return os.WriteFile(path, []byte(head+begin+"\n"+written+"\n\n"+end+tail), 0o644)
}
