package services_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var declared = regexp.MustCompile("`env:\"([A-Z_]+)\"[^`]* danger:\"[^`]*`")

// TestThePageOfSecurityHasEveryDangerousSetting checks that the security page lists each setting, of all services,
// whose tag declares a dangerous value.
func TestThePageOfSecurityHasEveryDangerousSetting(t *testing.T) {
	t.Parallel()
	_, section, _ := strings.Cut(read(t, "docs", "security.md"), "## Dangerous defaults")
	section, _, _ = strings.Cut(section, "\n## ")
	found := 0
	for _, folder := range []string{"pkg", "gateway", "services"} {
		err := filepath.WalkDir(filepath.Join(root, folder), func(path string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			source, err := os.ReadFile(path)
			for _, match := range declared.FindAllSubmatch(source, -1) {
				found++
				if !regexp.MustCompile(string(match[1]) + "[`=]").MatchString(section) {
					t.Errorf("%s declares %s as dangerous, which the table of docs/security.md does not have", path, match[1])
				}
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if found < 15 {
		t.Errorf("%d settings are declared as dangerous, want at least 15", found)
	}
}
