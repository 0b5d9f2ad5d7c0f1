// Command wrapcomments breaks comment lines of Go files that are longer than 120 columns. It moves the rest of a line
// into the next one if that belongs to the same paragraph.
package main

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"unicode/utf8"
)

const (
	usage   = "usage: wrapcomments FILE…\n\nRewrites the files in place: no comment line of words has more than 120 columns."
	columns = 120
)

// prose matches a comment line that is a sentence, not a directive, an example or a list.
var prose = regexp.MustCompile(`^(\t*// )[^ \t\-*•|]`)

func main() {
	if len(os.Args) < 2 || os.Args[1][0] == '-' {
		fmt.Fprintln(os.Stderr, usage)
		os.Exit(2)
	}
	for _, path := range os.Args[1:] {
		if err := rewrite(path); err != nil {
			fmt.Fprintln(os.Stderr, "wrapcomments:", err)
			os.Exit(1)
		}
	}
}

func rewrite(path string) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	wrapped := wrap(string(text))
	if wrapped == string(text) {
		return nil
	}
	return os.WriteFile(path, []byte(wrapped), 0o644)
}

func wrap(text string) string {
	var out []string
	lines := strings.Split(text, "\n")
	for i := 0; i < len(lines); i++ {
		line := lines[i]
		found := prose.FindStringSubmatch(line)
		if found == nil || utf8.RuneCountInString(line) <= columns {
			out = append(out, line)
			continue
		}
		head, tail := cut(line, len(found[1]))
		out = append(out, head)
		switch below := ""; {
		case tail == "":
		case i+1 < len(lines) && goesOn(lines[i+1], found[1]):
			below = strings.TrimPrefix(lines[i+1], found[1])
			lines[i+1] = found[1] + tail + " " + below
		default:
			lines[i] = found[1] + tail
			i-- // the rest may be too long as well
		}
	}
	return strings.Join(out, "\n")
}

// goesOn reports whether line continues a paragraph whose lines begin with prefix.
func goesOn(line, prefix string) bool {
	found := prose.FindStringSubmatch(line)
	return found != nil && found[1] == prefix
}

// cut breaks line at the last space within the limit. A longer word stays in one piece.
func cut(line string, from int) (head, tail string) {
	runes := []rune(line)
	at := strings.LastIndex(string(runes[:columns+1]), " ")
	if at < from {
		if at = strings.Index(line[from:], " "); at < 0 {
			return line, ""
		}
		at += from
	}
	return line[:at], line[at+1:]
}
