package e2e

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// savingClient saves texts one by one, repeating each until it is acknowledged.
type savingClient struct {
	name         string
	report, id   int
	token        string
	texts        []string
	files        map[string][]formFile
	acknowledged int
	retried      int
	last         string // text of the newest acknowledged save
	problem      string
}

// run saves all texts. It stops after four minutes, so that a broken service does not block the test.
func (c *savingClient) run(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, 4*time.Minute)
	defer cancel()
	for _, text := range c.texts {
		for {
			got, err := uploadForm(ctx, c.id, c.token, c.files[text])
			if err == nil && got.status == 200 {
				c.acknowledged, c.last = c.acknowledged+1, text
				break
			}
			if ctx.Err() != nil || err == nil && got.status != 429 && got.status < 500 {
				c.problem = fmt.Sprintf("%s: %d %s %v", text, got.status, got.body, err)
				return
			}
			if err == nil && got.status == 429 {
				return // limit of five a minute; another run saves the rest
			}
			c.retried++
			pause(ctx, 100*time.Millisecond)
		}
	}
}

func pause(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}

// largePair returns a save of several megabytes, so that a kill is likely to interrupt it.
func largePair(t *testing.T, text string) []formFile {
	t.Helper()
	noise := make([]byte, 2<<20)
	dice := rand.New(rand.NewPCG(uint64(len(text)), 7))
	for i := range noise {
		noise[i] = byte(dice.Uint32())
	}
	files := savedPair(t, text)
	files[0].content = docx(t, text, "word/media/image1.png", string(noise))
	files[1].content = bytes.Replace(files[1].content, []byte("trailer"),
		append(append([]byte("5 0 obj <</Length 1>>\nstream\n"), noise...), "\nendstream endobj\ntrailer"...), 1)
	return files
}

// wantLinked checks that the report's files belong to one save: the newest acknowledged one, or one that was running
// after it.
func (c *savingClient) wantLinked(t *testing.T) {
	t.Helper()
	if c.problem != "" {
		t.Error(c.problem)
	}
	var word, pdf string
	queryRow(t, "SELECT COALESCE(wordFilePath, ''), COALESCE(pdfFilePath, '') FROM labReportRelation WHERE id = ?",
		c.report).scan(&word, &pdf)
	if c.last == "" && word == "" {
		return
	}
	said := ""
	content := object(t, word)
	for _, text := range c.texts {
		if bytes.Equal(content, c.files[text][0].content) {
			said = text
		}
	}
	if said == "" || !bytes.Equal(object(t, pdf), c.files[said][1].content) {
		t.Errorf("%s: the linked files are no save's pair (%q)", c.name, said)
	}
	if slices.Index(c.texts, said) < slices.Index(c.texts, c.last) {
		t.Errorf("%s: %q is linked, %q was acknowledged", c.name, said, c.last)
	}
}

func object(t *testing.T, url string) []byte {
	t.Helper()
	content, err := os.ReadFile(strings.TrimPrefix(url, "file://"))
	if err != nil {
		t.Fatal(err)
	}
	return content
}

// wantNoOrphans checks that every file of the report belongs to a revision.
func (c *savingClient) wantNoOrphans(t *testing.T) {
	t.Helper()
	for _, name := range strings.Fields(objectsOf(t, c.report)) {
		var n int
		path := "%/" + fmt.Sprint(c.report) + strings.TrimSuffix(filepath.ToSlash(name), ".attrs")
		queryRow(t, "SELECT COUNT(*) FROM external_edit_revision WHERE word_s3_path LIKE ? OR pdf_s3_path LIKE ?", path,
			path).scan(&n)
		if n == 0 {
			t.Errorf("%s: %s belongs to no revision", c.name, name)
		}
	}
}
