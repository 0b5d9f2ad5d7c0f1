package page

import (
	"os"
	"path/filepath"
	"testing"
)

func TestAPartIsReplacedAndTheOthersStay(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "page.md")
	const before = "# Page\n<!-- a -->\nold\n<!-- end of a -->\nbetween\n<!-- b -->\nold\n<!-- end of b -->\nend\n"
	if err := os.WriteFile(path, []byte(before), 0o600); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := Write(path, "b", "is {{.}}", 7); err != nil {
			t.Fatal(err)
		}
	}
	const want = "# Page\n<!-- a -->\nold\n<!-- end of a -->\nbetween\n<!-- b -->\n\nis 7\n\n<!-- end of b -->\nend\n"
	if text, err := os.ReadFile(path); string(text) != want || err != nil {
		t.Errorf("the page is\n%s, %v, want\n%s", text, err, want)
	}
	if err := Write(path, "c", "", nil); err == nil {
		t.Error("a part is written that the page does not have")
	}
}
