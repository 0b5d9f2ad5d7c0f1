package document

import "strings"

// The namespaces of WordprocessingML, of both editions of the standard.
func isWordML(space string) bool {
	return space == "http://schemas.openxmlformats.org/wordprocessingml/2006/main" ||
		space == "http://purl.oclc.org/ooxml/wordprocessingml/main"
}

var errDDE = wordInvalid("WORD_DDE", "has a field that asks another program for data (DDE);"+
	" remove it in Word (Alt+F9 shows the fields) and save it again")

const (
	maxFields      = 64  // within each other
	maxInstruction = 512 // bytes that are looked at
)

// story reads a part with text: the document, headers, footers, notes.
type story struct {
	main    bool
	depth   int
	tracked bool
	fields  [][]byte // instructions of the open complex fields
	reading bool     // the text of an instruction
}

func (s *story) start(e *element) error {
	s.depth++
	ours := isWordML(e.space)
	if s.main && s.depth == 1 && (!ours || e.local != "document") {
		return errXML
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
		return judgeInstruction(e.attr("instr"))
	case "fldChar":
		return s.field(e.attr("fldCharType"))
	}
	return nil
}

func (s *story) end(local string) error {
	s.depth--
	if local == "instrText" || local == "delInstrText" {
		s.reading = false
	}
	return nil
}

func (s *story) text(p []byte) error {
	if last := len(s.fields) - 1; s.reading && last >= 0 {
		room := maxInstruction - len(s.fields[last])
		s.fields[last] = append(s.fields[last], p[:min(room, len(p))]...)
	}
	return nil
}

// field follows the marks of a complex field.
func (s *story) field(mark string) error {
	last := len(s.fields) - 1
	switch {
	case mark == "begin" && len(s.fields) >= maxFields:
		return wordInvalid("WORD_FIELDS", "has fields nested too deeply to be checked; remove them and save it again")
	case mark == "begin":
		s.fields = append(s.fields, nil)
		return nil
	case last < 0:
		return nil
	}
	instruction := string(s.fields[last])
	if mark == "end" {
		s.fields = s.fields[:last]
	}
	return judgeInstruction(instruction)
}

// judgeInstruction refuses fields that fetch something when the document is opened.
func judgeInstruction(instruction string) error {
	name, rest, _ := strings.Cut(strings.TrimLeft(instruction, " \t\r\n\u00a0"), " ")
	switch strings.ToUpper(strings.TrimSpace(name)) {
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

// fetches reports whether an argument is remote; fields usually write a backslash twice.
func fetches(argument string) bool {
	return isRemote(argument) || isRemote(strings.ReplaceAll(argument, `\\`, `\`))
}

// firstArgument returns the first argument of an instruction, with or without quotes.
func firstArgument(rest string) string {
	rest = strings.TrimSpace(rest)
	for _, quotes := range []string{`""`, "\u201c\u201d"} {
		opening, closing := string([]rune(quotes)[0]), string([]rune(quotes)[1])
		if inner, ok := strings.CutPrefix(rest, opening); ok {
			argument, _, _ := strings.Cut(inner, closing)
			return argument
		}
	}
	argument, _, _ := strings.Cut(rest, " ")
	return argument
}
