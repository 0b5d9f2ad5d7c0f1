package userindex

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Person holds the parts of a text about a person: the name, and the details that the text adds to it.
type Person struct {
	Name   string   // the text without titles, relations, sex and age
	Titles []string // all variants of each title and relation in the text
	Female bool
	Male   bool
	Age    int // in years; 0 if unknown
}

// HasDetails reports whether the text states anything in addition to the name.
func (p *Person) HasDetails() bool { return len(p.Titles) > 0 || p.Female || p.Male || p.Age > 0 }

// IsBaby reports whether the text names a newborn by the mother.
func (p *Person) IsBaby() bool { return slices.Contains(p.Titles, "baby") }

// titles groups variants of one title. The first letter is the implied sex: f, m, or - for none.
var titles = groups(
	"m mr mister shri",
	"f mrs smt shrimati srimati",
	"f ms miss kumari km kum ku",
	"- dr doctor",
	"- prof professor",
	"m master mast",
	"- b/o bo baby",
	"m s/o so",
	"f d/o",
	"f w/o wo",
	"- c/o",
	"m male",
	"f female",
)

func groups(lines ...string) [][]string {
	all := make([][]string, len(lines))
	for i, line := range lines {
		all[i] = strings.Fields(line)
	}
	return all
}

const (
	oldest       = 120
	monthsOfYear = 12
)

// ageAndSex matches an age in years, with or without the sex: 36, 36yrs, 36/M, F-36, 36m.
var ageAndSex = regexp.MustCompile(`^(?:(m|f)(?:ale|emale)?[/-])?([0-9]{1,3})(?:y|yrs?|years?)?(?:(/|-)?(m|f)(?:ale|emale)?)?$`)

// Describe splits a text into the name and the details: titles, relations, sex and age. A text of details only counts
// as a name, because Baby and Kumari are also names.
func Describe(text string) Person {
	var p Person
	var name []string
	aged := false // the previous word is an age
	for _, word := range strings.Fields(strings.ToLower(text)) {
		switch plain := strings.ReplaceAll(strings.Trim(word, ".,()"), ".", ""); {
		case aged && (plain == "f" || plain == "m" && p.Age >= monthsOfYear):
			p.sex(plain)
		case p.take(plain):
			aged = p.Age > 0
			continue
		default:
			name = append(name, word)
		}
		aged = false
	}
	if len(name) == 0 {
		return Person{Name: text}
	}
	p.Name = strings.Join(name, " ")
	return p
}

func (p *Person) take(word string) bool {
	for _, of := range titles {
		if slices.Contains(of[1:], word) {
			p.Female, p.Male = p.Female || of[0] == "f", p.Male || of[0] == "m"
			p.Titles = append(p.Titles, of[1:]...)
			return true
		}
	}
	switch word {
	case "of", "y", "yr", "yrs", "year", "years", "old":
		return true
	}
	const before, number, separator, after = 1, 2, 3, 4
	parts := ageAndSex.FindStringSubmatch(word)
	if parts == nil {
		return false
	}
	years, _ := strconv.Atoi(parts[number]) // the expression allows only digits
	inMonths := parts[after] == "m" && parts[separator] == "" && years < monthsOfYear
	if years < 1 || years > oldest || inMonths {
		return false
	}
	p.Age = years
	p.sex(parts[before] + parts[after])
	return true
}

// sex stores the sex by its first letter; other texts are ignored.
func (p *Person) sex(letter string) {
	p.Female, p.Male = p.Female || letter == "f", p.Male || letter == "m"
}
