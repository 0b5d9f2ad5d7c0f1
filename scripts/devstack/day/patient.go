package day

import (
	"fmt"
	"math/rand/v2"
	"time"
)

// glucose is the id of a second test that every patient has.
const glucose = 64

// kind is a test with one simulated value: its range in healthy people, and its life-threatening values.
type kind struct {
	test, index           int
	parameter             string
	low, high             float64
	criticalLow, tooLow   float64
	criticalHigh, tooHigh float64
	decimals              int
	device, deviceName    string
}

var kinds = []kind{
	{55, 1, "Haemoglobin", 12, 16.5, 7, 4.5, 20, 22, 1, "XN-1", "Sysmex XN-1000"},
	{66, 2, "Potassium", 3.6, 5, 2.5, 2, 6.5, 7.8, 1, "AU-2", "Beckman AU480"},
}

// patient is a generated person.
type patient struct {
	title, given, family, gender, contact string
	born                                  time.Time
	source                                string // the payer
	kind                                  kind
	value                                 float64
	critical, wrong                       bool // wrong: a critical value that a second measurement does not confirm
	splits, edits                         bool
	wait                                  int // minutes until the sample is measured
}

var (
	women = []string{
		"Aditi", "Asha", "Deepa", "Fatima", "Gauri", "Ishita", "Kavita", "Lakshmi", "Meera", "Neha", "Pooja",
		"Radhika", "Saira", "Sunita", "Vidya", "Zoya",
	}
	men = []string{
		"Aarav", "Arjun", "Deepak", "Farhan", "Girish", "Imran", "Karan", "Manoj", "Nikhil", "Omkar", "Prakash",
		"Rahul", "Sanjay", "Tarun", "Vikram", "Yusuf",
	}
	families = []string{
		"Bhosale", "Chavan", "D'Souza", "Deshmukh", "Fernandes", "Gaikwad", "Iyer", "Jadhav", "Joshi", "Khan",
		"Kulkarni", "Mehta", "Nair", "Patil", "Reddy", "Shaikh", "Sharma", "Thomas",
	}
)

// Shares of patients with rarer events.
const (
	criticalPart, wrongPart, insuredPart, splitPart, editPart = 0.04, 0.25, 0.2, 0.3, 0.02
)

func drawPatient(r *rand.Rand, critical float64) patient {
	one := patient{title: "Ms", given: women[r.IntN(len(women))], gender: "Female"}
	if r.IntN(2) == 0 {
		one.title, one.given, one.gender = "Mr", men[r.IntN(len(men))], "Male"
	}
	one.family = families[r.IntN(len(families))]
	one.contact = fmt.Sprintf("98%08d", r.IntN(100_000_000)) // each such number is a mobile number in India
	one.born = time.Date(1936+r.IntN(72), time.Month(1+r.IntN(12)), 1+r.IntN(28), 0, 0, 0, 0, time.UTC)
	one.source = "Org Pay"
	if r.Float64() < insuredPart {
		one.source = "Insurance"
	}
	one.kind = kinds[r.IntN(len(kinds))]
	one.critical, one.wrong = r.Float64() < critical, r.Float64() < wrongPart
	one.splits, one.edits = r.Float64() < splitPart, r.Float64() < editPart
	one.value = one.kind.healthy(r)
	if one.critical {
		one.value = one.kind.dangerous(r)
	}
	one.wait = 15 + r.IntN(40)
	return one
}

func (k kind) healthy(r *rand.Rand) float64 { return k.low + r.Float64()*(k.high-k.low) }

func (k kind) dangerous(r *rand.Rand) float64 {
	if r.IntN(2) == 0 {
		return k.tooLow + r.Float64()*(k.criticalLow-k.tooLow)*0.9
	}
	return k.tooHigh - r.Float64()*(k.tooHigh-k.criticalHigh)*0.9
}

func (k kind) text(value float64) string { return fmt.Sprintf("%.*f", k.decimals, value) }
