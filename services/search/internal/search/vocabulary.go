package search

import (
	"regexp"
	"strconv"
	"strings"
	"unicode"
)

var (
	phones  = []Field{Contact, AlternateContact}
	bills   = []Field{BillIDs, LabBillIDs}
	orders  = []Field{OrderNumbers}
	reports = []Field{LabReportIDs, LrfIDs}
	samples = []Field{SampleIDs, ManualSampleIDs}
	persons = []Field{NationalID, PassportNo}
	mail    = []Field{Email}
)

// labels are words before a number, with the fields that they denote; nil means any field.
var labels = map[string][]Field{
	"mob": phones, "mobile": phones, "ph": phones, "phone": phones, "tel": phones, "telephone": phones, "cell": phones,
	"contact": phones, "whatsapp": phones, "mb": phones,
	"bill": bills, "invoice": bills, "inv": bills, "receipt": bills, "order": orders, "ord": orders,
	"rcpt": bills, "report": reports, "rpt": reports, "sample": samples, "barcode": samples, "specimen": samples,
	"aadhar": persons, "aadhaar": persons, "adhar": persons, "uid": persons, "national": persons, "passport": persons,
	"email": mail, "e-mail": mail, "mail": mail,
	"acc": nil, "accession": nil, "lab": nil, "abha": nil, "sid": nil,
	"id": nil, "uhid": nil, "mrn": nil, "pid": nil, "reg": nil, "patient": nil, "#": nil, "no": nil, "nr": nil,
	"num": nil, "number": nil, "dob": nil, "born": nil, "birth": nil, "birthdate": nil,
}

func isLabel(word string) bool {
	_, ok := labels[strings.ToLower(strings.ReplaceAll(word, ".", ""))]
	return ok
}

// filler lists words without information about the patient.
var filler = words("self pt late ji sir madam name and or & and/or age aged")

// Patterns for phrases before the last digits of a telephone number, and for a letter used as a label.
var (
	ofTheEnd = regexp.MustCompile(`(?i)\b(?:last *\d* *digits?|end(?:ing|s)(?: *(?:with|in))?)\b([ :*•●·.x-]*[0-9])`)
	ofSample = regexp.MustCompile(`(^| )[A-Za-z]{1,2}[:=] *([0-9])`)
)

// relations are abbreviations before the name of a husband, parent or other relative. relatives are the corresponding
// words before "of".
var (
	relations = words("w/o s/o d/o c/o h/o f/o m/o wo so")
	relatives = words("wife son daughter husband father mother sister brother guardian care")
)

func words(list string) map[string]bool {
	set := map[string]bool{}
	for _, word := range strings.Fields(list) {
		set[word] = true
	}
	return set
}

func hasDigit(word string) bool { return strings.ContainsFunc(word, unicode.IsDigit) }

// digitsOf returns the digits of a word that contains only digits and the usual characters between them; otherwise "".
func digitsOf(word string) string {
	if strings.Trim(word, "0123456789+-().") != "" {
		return ""
	}
	return strings.NewReplacer("+", "", "-", "", "(", "", ")", "", ".", "").Replace(word)
}

const (
	oldest    = 120
	firstYear = 1900
	lastYear  = 2099
)

// isAge reports whether a word is an age, with or without the sex: 36, 36y, 36/M, M-36.
func isAge(word string) bool {
	word, sex, _ := strings.Cut(strings.ReplaceAll(strings.ToLower(word), "-", "/"), "/")
	if hasDigit(sex) && !hasDigit(word) {
		word, sex = sex, word
	}
	if !strings.Contains("male female", sex) {
		return false
	}
	years, err := strconv.Atoi(strings.TrimRight(word, "yrs"))
	return err == nil && years <= oldest && !strings.HasPrefix(word, "0")
}

func isYear(word string) bool {
	year, err := strconv.Atoi(word)
	return err == nil && year >= firstYear && year <= lastYear
}
