package pageassets_test

import (
	"io/fs"
	"strings"
	"testing"

	"github.com/labplatform/labplatform/pkg/pageassets"
)

func TestStylesheetSupportsLightAndDark(t *testing.T) {
	t.Parallel()
	text, err := fs.ReadFile(pageassets.Files(), "lab.css")
	if err != nil || !strings.Contains(string(text), "prefers-color-scheme: dark") || strings.Contains(string(text), "http") {
		t.Errorf("stylesheet: error %v, want a dark scheme and no external URL in\n%s", err, text)
	}
}
