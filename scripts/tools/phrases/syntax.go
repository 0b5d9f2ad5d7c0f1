package main

import "strings"

// syntax describes the comments and strings of a language.
type syntax struct {
	line      string // begins a comment that ends with the line; "": there is none
	open, end string // begin and end other comments
	quotes    string // the characters that begin and end strings
	reveal    bool   // check strings as well; the language has /regular expressions/
}

func (s syntax) prose(source []byte) string {
	out, text := hide(source), string(source)
	for at := 0; at < len(text); {
		at += s.next(out[at:], text[:at], text[at:])
	}
	return string(out)
}

// next copies the comment or string at the beginning of rest to out, and returns its length in bytes; 1 for other text.
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

// blockLength returns the length of a comment including its end, or of the whole text when the end is missing.
func blockLength(text string, from int, end string) int {
	if at := strings.Index(text[from:], end); at >= 0 {
		return from + at + len(end)
	}
	return len(text)
}

// quotedLength returns the length of the literal at the beginning of text, up to the same quote again. Only back quotes
// may span lines.
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

// operandMayFollow reports whether a slash after this text begins a regular expression. Otherwise it is a division.
func operandMayFollow(before string) bool {
	trimmed := strings.TrimRight(before[max(0, len(before)-200):], " \t\n")
	return trimmed == "" || strings.IndexByte("(,=:[!&|?{};>", trimmed[len(trimmed)-1]) >= 0
}
