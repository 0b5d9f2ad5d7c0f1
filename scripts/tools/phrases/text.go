package main

import (
	"go/scanner"
	"go/token"
	"path"
	"strings"
)

// reader returns what makes the prose of a file of this kind, nil for files that are not read. The prose has the
// length and the line breaks of the source.
func reader(file string) func(source []byte) string {
	switch path.Ext(file) {
	case ".go":
		return goProse
	case ".md", ".html", ".tpl":
		return func(source []byte) string { return string(source) }
	case ".yaml", ".yml", ".sh":
		return hashProse
	case ".lua":
		return syntax{line: "--", open: "--[[", end: "]]", quotes: `"'`}.prose
	case ".sql":
		return syntax{line: "--", open: "/*", end: "*/", quotes: `"'`}.prose
	case ".proto":
		return syntax{line: "//", open: "/*", end: "*/", quotes: `"'`}.prose
	case ".css":
		return syntax{open: "/*", end: "*/", quotes: `"'`}.prose
	case ".js", ".mjs":
		return syntax{line: "//", open: "/*", end: "*/", quotes: "\"'`", reveal: true}.prose
	}
	if path.Base(file) == "Makefile" {
		return hashProse
	}
	return nil
}

// hashProse is the whole text, with # as a gap: descriptions and messages are read as well as comments.
func hashProse(source []byte) string { return strings.ReplaceAll(string(source), "#", " ") }

// hide returns white space as it is, and zero for every other character: no phrase matches a zero, and none spans it.
func hide(source []byte) []byte {
	out := make([]byte, len(source))
	for i, c := range source {
		if c == ' ' || c == '\t' || c == '\n' {
			out[i] = c
		}
	}
	return out
}

func goProse(source []byte) string {
	out := hide(source)
	set := token.NewFileSet()
	file := set.AddFile("", set.Base(), len(source))
	var s scanner.Scanner
	s.Init(file, source, func(token.Position, string) {}, scanner.ScanComments)
	for {
		position, kind, literal := s.Scan()
		at := file.Offset(position)
		switch kind {
		case token.EOF:
			return string(out)
		case token.COMMENT:
			revealComment(out[at:], literal, literal[:2], "*/")
		case token.STRING:
			revealString(out[at:], literal)
		}
	}
}

// revealComment shows a comment, with blanks for its marks.
func revealComment(out []byte, comment, open, end string) {
	copy(out, comment)
	copy(out, strings.Repeat(" ", len(open)))
	if strings.HasSuffix(comment, end) && len(comment) >= len(open)+len(end) {
		copy(out[len(comment)-len(end):], strings.Repeat(" ", len(end)))
	}
}

var unescaped = strings.NewReplacer(`\n`, "  ", `\t`, "  ", `\"`, "  ")

// revealString shows what stands between the quotes. They stay hidden: no phrase spans two strings.
func revealString(out []byte, literal string) {
	if len(literal) < 2 {
		return
	}
	inner := literal[1 : len(literal)-1]
	if literal[0] != '`' {
		inner = unescaped.Replace(inner)
	}
	copy(out[1:], inner)
}
