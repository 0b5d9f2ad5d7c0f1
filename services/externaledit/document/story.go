package document

import (
	"bytes"
	"errors"
	"strings"
	"unicode"
)

// Namespaces of WordprocessingML in the two editions of the standard.
const (
	wordSpace  = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
	wordStrict = "http://purl.oclc.org/ooxml/wordprocessingml/main"
)

func isWordML(space string) bool { return space == wordSpace || space == wordStrict }

var errDDE = wordInvalid("WORD_DDE", "has a field that asks another program for data (DDE);"+
	" remove it in Word (Alt+F9 shows the fields) and save it again")

var errFields = wordInvalid("WORD_FIELDS",
	"has a field that cannot be checked; remove it in Word (Alt+F9 shows the fields) and save it again")

const (
	maxFields      = 64  // maximum nesting
	maxInstruction = 512 // maximum bytes read of an instruction
)

// wordField is a complex field whose end has not been read.
type wordField struct {
	instruction []byte
	branch      int  // the branch of alternative content in which it begins
	result      bool // the instruction is complete
}

// story checks a part with text: the document, headers, footers, notes.
type story struct {
	main     bool
	untyped  bool   // its content type does not declare it as text of Word
	root     string // name of the root element
	depth    int
	tracked  bool
	fields   []wordField
	reading  bool  // inside the text of an instruction
	branches []int // open branches of alternative content; a reader uses one of the alternatives
	branched int
}

// errNotWord stops reading a part whose XML is not text of Word.
var errNotWord = errors.New("the part is no text of Word")

func (s *story) start(e *element) error {
	s.depth++
	ours := isWordML(e.space)
	if s.depth == 1 {
		s.root = e.local
		switch {
		case s.main && (!ours || e.local != "document"):
			return errXML
		case s.untyped && !ours:
			return errNotWord
		}
	}
	if isBranch(e.local) {
		s.branched++
		s.branches = append(s.branches, s.branched)
	}
	if !ours {
		return nil
	}
	switch e.local {
	case "ins", "del", "moveFrom", "moveTo", "cellIns", "cellDel":
		s.tracked = true
	case "instrText", "delInstrText":
		s.reading = true
	case "fldSimple":
		return s.simpleField(e)
	case "fldChar":
		mark, _ := e.wordAttr("fldCharType")
		return s.field(mark)
	}
	return nil
}

func (s *story) end(local string) error {
	s.depth--
	switch {
	case local == "instrText" || local == "delInstrText":
		s.reading = false
	case isBranch(local):
		s.branches = s.branches[:len(s.branches)-1]
	}
	return nil
}

func isBranch(local string) bool { return local == "Choice" || local == "Fallback" }

func (s *story) branch() int {
	if len(s.branches) == 0 {
		return 0
	}
	return s.branches[len(s.branches)-1]
}

func (s *story) text(p []byte) error {
	last := len(s.fields) - 1
	if !s.reading || last < 0 {
		return nil
	}
	f := &s.fields[last]
	if f.branch != s.branch() {
		return errFields // readers would see different instructions, by the branch they use
	}
	f.instruction = bytes.TrimLeftFunc(append(f.instruction, p...), isBlank)
	f.instruction = f.instruction[:min(maxInstruction, len(f.instruction))]
	return nil
}

// field processes a mark of a complex field: begin, separate or end.
func (s *story) field(mark string) error {
	if mark == "begin" {
		if err := s.nested(); err != nil {
			return err
		}
		s.fields = append(s.fields, wordField{branch: s.branch()})
		return nil
	}
	last := len(s.fields) - 1
	if last < 0 {
		return nil
	}
	f := s.fields[last]
	if f.branch != s.branch() {
		return errFields
	}
	s.fields[last].result = true
	if mark == "end" {
		s.fields = s.fields[:last]
	}
	return judgeInstruction(string(f.instruction))
}

// nested rejects a field inside the name of another field, because its result would become part of that name.
func (s *story) nested() error {
	last := len(s.fields) - 1
	switch {
	case last < 0:
		return nil
	case last+1 >= maxFields:
		return wordInvalid("WORD_FIELDS", "has fields nested too deeply to be checked; remove them and save it again")
	case s.fields[last].result:
		return nil
	}
	name, rest := fieldName(string(s.fields[last].instruction))
	for _, fetching := range fetchingFields {
		if rest == "" && strings.HasPrefix(fetching, name) {
			return errFields
		}
	}
	return nil
}

func (s *story) simpleField(e *element) error {
	if err := s.nested(); err != nil {
		return err
	}
	const longestName = 64
	instruction, cut := e.wordAttr("instr")
	if cut && len(strings.TrimLeftFunc(instruction, isBlank)) < longestName {
		return errFields
	}
	return judgeInstruction(instruction)
}

var fetchingFields = []string{"DDEAUTO", "LINK", "INCLUDEPICTURE", "IMPORT", "INCLUDETEXT"}

// isBlank reports whether Word ignores a character before the name of a field.
func isBlank(r rune) bool { return unicode.In(r, unicode.White_Space, unicode.Cc, unicode.Cf) }

// fieldName returns the name of an instruction in upper case, and the text after it.
func fieldName(instruction string) (name, rest string) {
	instruction = strings.TrimLeftFunc(instruction, isBlank)
	end := strings.IndexFunc(instruction, func(r rune) bool {
		return r != '_' && !unicode.IsLetter(r) && !unicode.IsDigit(r)
	})
	if end < 0 {
		end = len(instruction)
	}
	return strings.ToUpper(instruction[:end]), instruction[end:]
}

// judgeInstruction rejects fields that fetch something when the document is opened.
func judgeInstruction(instruction string) error {
	name, rest := fieldName(instruction)
	switch name {
	case "DDE", "DDEAUTO":
		return errDDE
	case "LINK":
		return errLinked
	case "INCLUDEPICTURE", "IMPORT":
		if fetches(firstArgument(rest)) {
			return errRemotePicture
		}
	case "INCLUDETEXT", "INCLUDE":
		if fetches(firstArgument(rest)) {
			return errLinked
		}
	}
	return nil
}

// fetches reports whether an argument is remote. Fields usually write a backslash twice.
func fetches(argument string) bool {
	return isRemote(argument) || isRemote(strings.ReplaceAll(argument, `\\`, `\`))
}

// firstArgument returns the first argument of an instruction without its quotes, if any.
func firstArgument(rest string) string {
	rest = strings.TrimFunc(rest, isBlank)
	for opening, closing := range map[string]string{`"`: `"`, "\u201c": "\u201d"} {
		if inner, ok := strings.CutPrefix(rest, opening); ok {
			argument, _, _ := strings.Cut(inner, closing)
			return argument
		}
	}
	argument, _, _ := strings.Cut(rest, " ")
	return argument
}
