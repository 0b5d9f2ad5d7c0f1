package main

import (
	"strings"
	"testing"
)

func TestLongCommentsAreWrappedIntoTheirParagraph(t *testing.T) {
	word := strings.Repeat("x", 39)
	long := strings.Join([]string{word, word, word, word}, " ")
	for in, want := range map[string]string{
		"// " + long: "// " + word + " " + word + "\n// " + word + " " + word,
		"\t// " + long + "\n\t// continues\n\tcode()":              "\t// " + word + " " + word + "\n\t// " + word + " " + word + " continues\n\tcode()",
		"// " + long + "\n//\n// next":                             "// " + word + " " + word + "\n// " + word + " " + word + "\n//\n// next",
		"//go:embed " + long:                                       "//go:embed " + long,
		"// - " + long:                                             "// - " + long,
		"code() // " + long:                                        "code() // " + long,
		"// " + strings.Repeat("y", 200):                           "// " + strings.Repeat("y", 200),
		"// " + strings.Repeat("y", 200) + " z":                    "// " + strings.Repeat("y", 200) + "\n// z",
		"// " + strings.TrimSpace(strings.Repeat("ab ", 39)):       "// " + strings.TrimSpace(strings.Repeat("ab ", 39)),
		"// " + strings.Repeat("é", 60) + strings.Repeat(" é", 20): "// " + strings.Repeat("é", 60) + strings.Repeat(" é", 20),
	} {
		if got := wrap(in); got != want {
			t.Errorf("%q became %q, want %q", in, got, want)
		}
	}
}
