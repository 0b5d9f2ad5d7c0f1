package relevance

import (
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
)

// Judgement is a text with its expected patient.
type Judgement struct {
	Kind  string
	LabID int64
	Text  string
	Want  int64 // the patient's user id
}

// kind generates the texts of a kind. text returns an empty string for patients without such a text; r chooses among
// several.
type kind struct {
	name string
	text func(r *rand.Rand, p *Patient) string
	// rivals reports whether another patient matches the text too, which makes the text unusable; nil means that no other
	// patient can.
	rivals func(text string, p, other *Patient) bool
}

func kinds() []kind {
	return []kind{
		{"whole name", func(_ *rand.Rand, p *Patient) string { return strings.ToLower(p.Name()) }, sameName},
		{"words in another order", func(_ *rand.Rand, p *Patient) string { return p.Words[len(p.Words)-1] + " " + p.Words[0] }, holdsWords},
		{"last word begun", lastBegun, begunAlike},
		{"beginnings of words", begun, begunAlike},
		{"typing error", mistyped, sameSound},
		{"two typing errors", twiceWrong, sharesEnds},
		{"typing error and digits", wrongWithDigits, reached},
		{"sound", respelled, sameSound},
		{"sound, last word begun", heardAndBegun, namedAndBegun},
		{"telephone", telephone, nil},
		{"last digits", func(r *rand.Rand, p *Patient) string { return p.national()[r.IntN(4):] }, heldAlike},
		{"first digits", func(r *rand.Rand, p *Patient) string {
			return []string{"", "+91", "0"}[r.IntN(3)] + p.national()[:7+r.IntN(3)]
		}, sameBeginning},
		{"email", func(_ *rand.Rand, p *Patient) string { return strings.ToUpper(p.Email) }, nil},
		{"patient's number", func(_ *rand.Rand, p *Patient) string { return strings.ToLower(p.LabPatientID) }, nil},
		{"national number", func(_ *rand.Rand, p *Patient) string {
			return p.NationalID[:4] + " " + p.NationalID[4:8] + " " + p.NationalID[8:]
		}, nil},
		{"bill", func(_ *rand.Rand, p *Patient) string { return strconv.FormatInt(p.BillIDs[0], 10) }, nil},
		{"report", func(_ *rand.Rand, p *Patient) string { return strconv.FormatInt(p.LabReportIDs[0], 10) }, nil},
		{"order", func(_ *rand.Rand, p *Patient) string { return strings.ToLower(p.OrderNumbers[0]) }, nil},
		{"segment of an order", func(_ *rand.Rand, p *Patient) string { return p.OrderNumbers[0][9:] }, nil},
		{"sample", func(_ *rand.Rand, p *Patient) string { return p.SampleIDs[0] }, nil},
		{"beginning of a sample", func(_ *rand.Rand, p *Patient) string { return p.SampleIDs[0][:9] }, nil},
		{"name and last digits", func(_ *rand.Rand, p *Patient) string { return p.Words[0] + " " + p.national()[5:] }, heldAlike},
		{"name and sample", func(_ *rand.Rand, p *Patient) string {
			return strings.ToLower(p.Words[len(p.Words)-1]) + " " + p.SampleIDs[0][:9]
		}, nil},
	}
}

// Judgements generates up to n texts of each kind for each laboratory of patients.
func Judgements(seed uint64, n int, patients []Patient) []Judgement {
	r := rand.New(rand.NewPCG(seed, 2)) // the same texts for the same seed
	var all []Judgement
	for _, of := range byLab(patients) {
		for _, k := range kinds() {
			all = append(all, k.judgements(r, n, of)...)
		}
	}
	return all
}

// Texts returns n texts of each kind for patients of one laboratory. Unlike Judgements it keeps texts that other
// patients match as well, because in a laboratory with a million patients nearly every text has several matches.
func Texts(seed uint64, n int, patients []Patient) []Judgement {
	r := rand.New(rand.NewPCG(seed, 2)) // the same texts for the same seed
	var all []Judgement
	for _, k := range kinds() {
		k.rivals = nil
		all = append(all, k.judgements(r, n, patients)...)
	}
	return all
}

// judgements returns the texts of at most n patients chosen by r.
func (k kind) judgements(r *rand.Rand, n int, of []Patient) []Judgement {
	var all []Judgement
	for _, i := range r.Perm(len(of)) {
		p := &of[i]
		if text := k.text(r, p); text != "" && !k.contested(text, p, of) {
			all = append(all, Judgement{k.name, p.LabID, text, p.UserID})
		}
		if len(all) == n {
			break
		}
	}
	return all
}

func byLab(patients []Patient) [][]Patient {
	var all [][]Patient
	for i, p := range patients {
		if i == 0 || p.LabID != patients[i-1].LabID {
			all = append(all, nil)
		}
		all[len(all)-1] = append(all[len(all)-1], p)
	}
	return all
}

func (k kind) contested(text string, p *Patient, of []Patient) bool {
	return k.rivals != nil && slices.ContainsFunc(of, func(other Patient) bool { return other.UserID != p.UserID && k.rivals(text, p, &other) })
}
