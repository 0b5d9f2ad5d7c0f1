package pages

import (
	"io/fs"
	"strings"
	"testing"
)

// No page may have a field of type number: a wheel or an arrow key would change an identifier or a measured value
// unnoticed.
func TestNoFieldOfAPageIsANumberField(t *testing.T) {
	t.Parallel()
	read := 0
	err := fs.WalkDir(files, ".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !strings.HasSuffix(path, ".html") && !strings.HasSuffix(path, ".js") {
			return err
		}
		text, err := fs.ReadFile(files, path)
		if strings.Contains(string(text), `type="number"`) || strings.Contains(string(text), `type = "number"`) {
			t.Errorf("%s has a field of type number: make it a text field with inputmode", path)
		}
		read++
		return err
	})
	if err != nil || read < 10 {
		t.Errorf("%d files read, %v", read, err)
	}
}
