package main

import (
	"go/scanner"
	"go/token"
	"path"
	"strings"
)

// reader returns the function that extracts the prose of this kind of file, or nil for files that are not read. The
// prose has the length and the line breaks of the source.
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

// hashProse returns the whole text with blanks in place of #, because descriptions and messages are checked as well as
// comments.
func hashProse(source []byte) string { return strings.ReplaceAll(string(source), "#", " ") }

// hide replaces every character except white space by zero. No phrase matches or spans a zero.
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

// revealComment copies a comment to out, with blanks in place of its marks.
func revealComment(out []byte, comment, open, end string) {
	copy(out, comment)
	copy(out, strings.Repeat(" ", len(open)))
	if strings.HasSuffix(comment, end) && len(comment) >= len(open)+len(end) {
		copy(out[len(comment)-len(end):], strings.Repeat(" ", len(end)))
	}
}

var unescaped = strings.NewReplacer(`\n`, "  ", `\t`, "  ", `\"`, "  ")

// revealString copies the text between the quotes to out. The quotes stay hidden, so that no phrase spans two strings.
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
