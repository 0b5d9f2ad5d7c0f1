package relevance

import (
	"fmt"
	"math/rand/v2"
	"strings"
)

// Patient is a patient of the corpus.
type Patient struct {
	UserID, LabID    int64
	Words            []string // words of the name
	Contact          string   // phone number as entered
	AlternateContact string
	Email            string
	LabPatientID     string
	NationalID       string
	OrderNumbers     []string
	BillIDs          []int64
	LabReportIDs     []int64
	SampleIDs        []string
	LastBillTime     int64  // epoch milliseconds
	Gender           string // empty if unknown
	Age              string
	DateOfBirth      string // YYYY-MM-DD, empty if unknown

	names []name // spellings of the words
}

// name is a name with its spellings and the one in use.
type name struct {
	spellings []string
	used      int
}

// Name returns the whole name.
func (p *Patient) Name() string { return strings.Join(p.Words, " ") }

// national returns the ten digits of the patient's phone number.
func (p *Patient) national() string {
	digits := onlyDigits(p.Contact)
	return digits[len(digits)-10:]
}

// Patients generates n patients for each laboratory, the same for the same seed. Their ids are unique in the corpus.
func Patients(seed uint64, n int, labs ...int64) []Patient {
	r := rand.New(rand.NewPCG(seed, 1)) // the same patients for the same seed
	given, family := spelled(givenNames), spelled(familyNames)
	var all []Patient
	for _, lab := range labs {
		for range n {
			all = append(all, patient(r, int64(100_000+len(all)), lab, given, family))
		}
	}
	return all
}

func patient(r *rand.Rand, id, lab int64, given, family [][]string) Patient {
	p := Patient{UserID: id, LabID: lab, LabPatientID: fmt.Sprintf("P%d-%06d", lab, id), NationalID: digits(r, "2", 12)}
	p.call(r, given)
	if r.IntN(3) == 0 {
		p.call(r, given)
	}
	p.call(r, family)
	national := digits(r, []string{"9", "8", "7", "6"}[r.IntN(4)], 10)
	p.Contact = []string{"", "", "+91 ", "91", "0"}[r.IntN(5)] + national
	if r.IntN(4) == 0 {
		p.AlternateContact = digits(r, "0", 11)
	}
	p.Email = fmt.Sprintf("%s.%d@example.in", strings.ToLower(p.Words[0]), id)
	for range 1 + r.IntN(4) {
		p.visit(r)
	}
	return p
}

func (p *Patient) call(r *rand.Rand, from [][]string) {
	n := name{spellings: from[r.IntN(len(from))]}
	n.used = r.IntN(len(n.spellings))
	p.names, p.Words = append(p.names, n), append(p.Words, n.spellings[n.used])
}

// visit adds a bill with an order, a report and a sample.
func (p *Patient) visit(r *rand.Rand) {
	p.BillIDs = append(p.BillIDs, 30_000_000+r.Int64N(10_000_000))
	p.LabReportIDs = append(p.LabReportIDs, 500_000_000+r.Int64N(100_000_000))
	p.OrderNumbers = append(p.OrderNumbers, fmt.Sprintf("ORD-%d-%s", 2020+r.IntN(7), digits(r, "4", 7)))
	p.SampleIDs = append(p.SampleIDs, fmt.Sprintf("S%s/%d", digits(r, "1", 8), 1+r.IntN(3)))
	p.LastBillTime = 1_700_000_000_000 + r.Int64N(90_000_000_000)
}

// digits returns n digits that start with first.
func digits(r *rand.Rand, first string, n int) string {
	for len(first) < n {
		first += string(rune('0' + r.IntN(10)))
	}
	return first
}

func onlyDigits(s string) string {
	return strings.Map(func(c rune) rune {
		if c < '0' || c > '9' {
			return -1
		}
		return c
	}, s)
}
