package relevance

import (
	_ "embed"
	"fmt"
	"strconv"
	"strings"
)

//go:embed handwritten.txt
var handWritten string

//go:embed nomatch.txt
var noMatches string

//go:embed public.txt
var public string

//go:embed lastnames.txt
var lastNames string

// Script is the kind of texts in another script than the patient's name; their figures are separate.
const Script = "script"

// handKinds maps the kinds in handwritten.txt and public.txt to names.
var handKinds = map[string]string{
	"boundary": "word boundaries",
	"title":    "titles, sex and age",
	"first":    "first letter",
	"id":       "identifiers",
	"sound":    "sounds",
	"tel":      "telephones",
	"inside":   "error within a word",
	"swapped":  "another order",
	"begun":    "begun words",
	Script:     Script,
	"extra":    "a word too many",
	"relation": "relations",
	"self":     "self",
	"birth":    "birth dates and years",
	"label":    "labels",
	"punct":    "punctuation",
	"two":      "two numbers",
	"mask":     "last digits, masked or labelled",
	"glued":    "labels and names at numbers",
	"digits":   "other digits and dashes",
	"scan":     "scanners, labels of identifiers",
	"mail":     "addresses",
	"date":     "forms of birth dates",
	"aged":     "sex and age",
	"country":  "country codes",
	"wrong":    "typing errors",
	"plain":    "without diacritics",
	"letters":  "forms of letters",
	"latin":    "Latin text, native name",
	"native":   "native text, Latin name",
}

// Handwritten returns the handwritten patients, once for each laboratory, and the texts with which the first laboratory
// searches for them. The other laboratories have the same patients, which no result of the first may contain.
func Handwritten(labs ...int64) ([]Patient, []Judgement) { return inLabs(handWritten, labs) }

// Public returns patients and texts from public lists of names, as Handwritten does.
func Public(labs ...int64) ([]Patient, []Judgement) { return inLabs(public, labs) }

func inLabs(list string, labs []int64) ([]Patient, []Judgement) {
	var patients []Patient
	var searched []Judgement
	for n, lab := range labs {
		of, texts := handOf(list, lab, int64(n+1)*1_000_000)
		patients = append(patients, of...)
		if n == 0 {
			searched = texts
		}
	}
	return patients, searched
}

// NoMatches returns texts that match no patient of Handwritten.
func NoMatches() []string { return listed(noMatches) }

// UnknownLastNames returns last names that no patient of Public has.
func UnknownLastNames() []string { return listed(lastNames) }

func listed(list string) (texts []string) {
	for line := range strings.Lines(list) {
		if text := strings.TrimSpace(line); text != "" && text[0] != '#' {
			texts = append(texts, text)
		}
	}
	return texts
}

func handOf(list string, lab, firstID int64) (patients []Patient, texts []Judgement) {
	for line := range strings.Lines(list) {
		text, isText := strings.CutPrefix(strings.TrimSuffix(line, "\n"), "  ")
		switch {
		case text == "" || text[0] == '#':
		case isText:
			kind, typed, _ := strings.Cut(text, ": ")
			texts = append(texts,
				Judgement{Kind: handKinds[kind], LabID: lab, Text: typed, Want: patients[len(patients)-1].UserID})
		default:
			patients = append(patients, handPatient(text, lab, firstID+int64(len(patients))))
		}
	}
	return patients, texts
}

// handPatient parses a line. Numbers that the line lacks are derived from its position and occur in no text.
func handPatient(line string, lab, id int64) Patient {
	parts := strings.Split(line, "; ")
	n := id % 1_000_000
	p := Patient{
		UserID:       id,
		LabID:        lab,
		Words:        strings.Fields(parts[0]),
		Contact:      fmt.Sprintf("7%09d", (n*7_654_321+555_000_111)%1_000_000_000),
		LabPatientID: fmt.Sprintf("P-%06d", 20_000+n*3),
		OrderNumbers: []string{fmt.Sprintf("CHN-2026-%06d", 50_000+n*7)},
		SampleIDs: []string{
			fmt.Sprintf("S/%04d/%d", 6000+n, n%3),
		},
		BillIDs:      []int64{6_000_000 + n*13},
		LabReportIDs: []int64{3_000_000 + n*11},
		LastBillTime: 1_780_000_000_000 + n,
	}
	p.Gender = map[byte]string{'F': "Female", 'M': "Male"}[parts[1][0]]
	p.Age = parts[1][1:] + " Y"
	for _, given := range parts[2:] {
		key, value, _ := strings.Cut(given, "=")
		p.number(key, value)
	}
	return p
}

func (p *Patient) number(key, value string) {
	number, _ := strconv.ParseInt(value, 10, 64) // 0 for a text that is no number
	switch key {
	case "d":
		p.DateOfBirth = value
	case "t":
		p.Contact = value
	case "p":
		p.LabPatientID = value
	case "o":
		p.OrderNumbers = []string{value}
	case "s":
		p.SampleIDs = []string{value}
	case "r":
		p.LabReportIDs = []int64{number}
	case "e":
		p.Email = value
	case "n":
		p.NationalID = value
	case "b":
		p.BillIDs = []int64{number}
	}
}
