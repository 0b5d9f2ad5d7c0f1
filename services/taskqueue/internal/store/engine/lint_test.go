package engine_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestScriptsNeverTurnNumbersIntoTextOrUseUndeclaredKeys: Lua rounds 16-digit numbers when it converts them to text,
// and fencing tokens have 16 digits. No script may convert them.
func TestScriptsNeverTurnNumbersIntoTextOrUseUndeclaredKeys(t *testing.T) {
	t.Parallel()
	banned := map[string]*regexp.Regexp{
		"tostring rounds tokens":           regexp.MustCompile(`\btostring\b`),
		"concatenation rounds tokens":      regexp.MustCompile(`\.\.[^.]`),
		"cjson rounds tokens":              regexp.MustCompile(`\bcjson\b`),
		"the clock is Redis TIME":          regexp.MustCompile(`\bos\.`),
		"a format other than %.0f":         regexp.MustCompile(`string\.format\('(?:[^%]|%[^.]|%\.[^0])`),
		"a literal key is not declared":    regexp.MustCompile(`redis\.call\('[A-Z]+', '`),
		"pcall hides a half-done mutation": regexp.MustCompile(`\bpcall\b`),
	}
	files, err := filepath.Glob("scripts/*.lua")
	if err != nil || len(files) == 0 {
		t.Fatalf("%d scripts, %v", len(files), err)
	}
	for _, file := range append(files, "prelude.lua", "lives.lua") {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasPrefix(file, "scripts") && !strings.HasPrefix(string(text), "#!lua") {
			t.Errorf("%s declares no flags", file)
		}
		for n, line := range strings.Split(string(text), "\n") {
			code, _, _ := strings.Cut(line, "--")
			for why, pattern := range banned {
				if pattern.MatchString(code) {
					t.Errorf("%s:%d: %s: %s", file, n+1, why, line)
				}
			}
		}
	}
}
