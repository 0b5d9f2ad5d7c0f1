package search

import (
	"slices"
	"strings"
)

// Identity holds the parts of a text for key Duplicate, such as "Rahul Sharma 1990-02-11 98765 43210". The parts may be
// in any order.
type Identity struct {
	Name   string
	Births []string // YYYY-MM-DD
	Phones []string // digits only
}

func identityOf(text string) Identity {
	said := Say(text)
	p := Identity{Name: strings.Join(said.Names, " "), Births: said.Births}
	for _, n := range said.Numbers {
		if digits := digitsOf(n.Text); len(digits) >= minTelephone {
			p.Phones = append(p.Phones, digits)
			if n.Birth != "" { // the number may be a birth date, too
				p.Births = append(p.Births, n.Birth)
			}
		}
	}
	p.Births = slices.DeleteFunc(p.Births, func(day string) bool { return !isYear(day[:len("2006")]) })
	return p
}
