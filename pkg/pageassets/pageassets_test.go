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
	if err != nil || !strings.Contains(string(text), "@media screen and (prefers-color-scheme: dark)") || strings.Contains(string(text), "http") {
		t.Errorf("stylesheet: error %v, want a dark scheme on screens, not on paper, and no external URL in\n%s", err, text)
	}
}
