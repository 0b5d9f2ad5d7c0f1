package search

import (
	"strings"
	"time"
)

// Identity is what a text of the key Duplicate tells, each in any place: "Rahul Sharma 1990-02-11 98765 43210".
type Identity struct {
	Name  string
	Birth string // YYYY-MM-DD, or ""
	Phone string // digits, or ""
}

// minTelephone is how many digits are a telephone number, and not an age or the number of a house.
const minTelephone = 7

func identityOf(text string) Identity {
	var p Identity
	var name []string
	var digits strings.Builder
	for _, word := range strings.Fields(text) {
		day, isDay := dayOf(word)
		switch {
		case isDay:
			p.Birth = day
		case strings.Trim(word, "0123456789+-().") == "":
			digits.WriteString(strings.NewReplacer("+", "", "-", "", "(", "", ")", "", ".", "").Replace(word))
		default:
			name = append(name, word)
		}
	}
	p.Name = strings.Join(name, " ")
	if digits.Len() >= minTelephone {
		p.Phone = digits.String()
	}
	return p
}

// dayOf reads a date as it is stored, or as people write it: the day first.
func dayOf(word string) (string, bool) {
	for _, layout := range []string{time.DateOnly, "2/1/2006", "2-1-2006", "2.1.2006"} {
		if day, err := time.Parse(layout, word); err == nil {
			return day.Format(time.DateOnly), true
		}
	}
	return "", false
}
