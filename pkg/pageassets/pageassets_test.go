package pageassets_test

import (
	"io/fs"
	"strings"
	"testing"

	"github.com/labplatform/labplatform/pkg/pageassets"
)

func TestTheStylesheetIsForLightAndDark(t *testing.T) {
	t.Parallel()
	text, err := fs.ReadFile(pageassets.Files(), "lab.css")
	if err != nil || !strings.Contains(string(text), "prefers-color-scheme: dark") || strings.Contains(string(text), "http") {
		t.Errorf("%v\n%s", err, text)
	}
}
