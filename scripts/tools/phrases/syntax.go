package main

import "strings"

// syntax is what has to be known of a language to find its comments and strings.
type syntax struct {
	line      string // begins a comment that ends with the line
	open, end string // stand around other comments
	quotes    string // each stands around strings
	reveal    bool   // strings are prose as well as comments; regular expressions stand between slashes
}

func (s syntax) prose(source []byte) string {
	out, text := hide(source), string(source)
	for at := 0; at < len(text); {
		at += s.next(out[at:], text[:at], text[at:])
	}
	return string(out)
}

// next shows the comment or string that begins here, and returns how many characters it took.
func (s syntax) next(out []byte, before, rest string) int {
	switch {
	case strings.HasPrefix(rest, s.open):
		n := blockLength(rest, len(s.open), s.end)
		revealComment(out, rest[:n], s.open, s.end)
		return n
	case s.line != "" && strings.HasPrefix(rest, s.line):
		n := len(strings.SplitN(rest, "\n", 2)[0])
		revealComment(out, rest[:n], s.line, "\n")
		return n
	case strings.IndexByte(s.quotes, rest[0]) >= 0:
		n := quotedLength(rest)
		if s.reveal {
			revealString(out, rest[:n])
		}
		return n
	case s.reveal && rest[0] == '/' && operandMayFollow(before):
		return quotedLength(rest)
	}
	return 1
}

// blockLength is the length of a comment with its end, or of the rest when it has none.
func blockLength(text string, from int, end string) int {
	if at := strings.Index(text[from:], end); at >= 0 {
		return from + at + len(end)
	}
	return len(text)
}

// quotedLength is the length of a literal: up to the same quote again. Only back quotes may span lines.
func quotedLength(text string) int {
	for i := 1; i < len(text); i++ {
		switch {
		case text[i] == '\\':
			i++
		case text[i] == text[0]:
			return i + 1
		case text[i] == '\n' && text[0] != '`':
			return i
		}
	}
	return len(text)
}

// operandMayFollow reports whether a slash begins a regular expression here, and is no division.
func operandMayFollow(before string) bool {
	trimmed := strings.TrimRight(before[max(0, len(before)-200):], " \t\n")
	return trimmed == "" || strings.IndexByte("(,=:[!&|?{};>", trimmed[len(trimmed)-1]) >= 0
}
