package ranking

import (
	"slices"
	"strings"

	"github.com/labplatform/labplatform/pkg/lab/userindex"
	"github.com/labplatform/labplatform/services/search/internal/search"
)

// Match returns the grade of a hit: that of the weakest comparison needed to find it. It keeps users from mistaking a
// guess for the person they searched for.
func (p *Plan) Match(card *userindex.Card, score float64) search.Match {
	if p.agreeing != nil {
		return nameMatch(p.names, card)
	}
	switch t := tierOf(score); t {
	case tierWhole, tierName, tierWords:
		return search.Exact
	case tierLast, tierBegins:
		return search.Begins
	case tierJoined, tierPerson:
		_, found := p.Reason(card, score)
		switch {
		case !slices.Equal(found, []search.Field{search.FullName}):
			return search.Part
		case t == tierPerson && p.asked.Age > 0 && !slices.Contains(ages(p.asked.Age), card.Age):
			return search.Tolerant
		case p.asked.IsBaby() && !isBaby(card): // the mother
			return search.Tolerant
		}
		return writtenMatch(p.asked.Name, card)
	case tierMixed, tierTypo:
		return p.weakest(card, t)
	case tierSound:
		return search.Sound
	case tierMost:
		return search.Tolerant
	}
	return search.Part
}

func isBaby(card *userindex.Card) bool {
	person := userindex.Describe(card.FullName)
	return person.IsBaby()
}

// weakest returns the grade of the word with the weakest match.
func (p *Plan) weakest(card *userindex.Card, of tier) search.Match {
	weakest := search.Exact
	for i := range p.byWord {
		if p.byWord[i].tier != of {
			continue
		}
		for _, w := range p.byWord[i].words {
			weakest = max(weakest, w.match(card, len(p.byWord[i].words) == 1))
		}
	}
	return weakest
}

// match returns how the card matches the word: by the closest place found in the card, otherwise by sound or with a
// typing error. alone is set if the text has no other word.
func (w word) match(card *userindex.Card, alone bool) search.Match {
	closest, piece := search.Typo, ""
	for i := range w {
		l := &w[i]
		isName := l.field.Kind() == search.Name
		if isName && piece == "" && l.found.Kind == AllWords {
			piece = l.found.Texts[0]
		}
		shown, _ := l.found.shows(card)
		switch {
		case !shown:
		case !isName:
			closest = min(closest, search.Part)
		case l.found.begins():
			closest = min(closest, search.Begins)
		default:
			closest = search.Exact
		}
	}
	if closest == search.Typo && soundsIn(piece, card, alone) {
		return search.Sound
	}
	return closest
}

// writtenMatch returns the grade of a name whose words are joined or split. Initials and other beginnings get the grade
// Begins, a name in another script the grade Sound.
func writtenMatch(named string, card *userindex.Card) search.Match {
	words := userindex.Written(card.FullName)
	forms, initials := userindex.Names(words), userindex.Initials(words)
	differs := func(word string) bool {
		return !slices.Contains(words, word) && (word == initials || !slices.Contains(forms, word))
	}
	begins := func(word string) bool {
		return slices.ContainsFunc(forms, func(form string) bool { return strings.HasPrefix(form, word) })
	}
	grade := search.Sound
	for _, way := range userindex.Joins(userindex.Written(named)) {
		switch {
		case !slices.ContainsFunc(way, differs):
			return search.Exact
		case !slices.ContainsFunc(way, func(word string) bool { return !begins(word) }):
			grade = search.Begins
		}
	}
	return grade
}

// soundsIn reports whether each word of piece sounds like a word of the card's name.
func soundsIn(piece string, card *userindex.Card, alone bool) bool {
	have := userindex.SoundForms(card.FullName)
	words := userindex.SoundTexts(piece, alone)
	return len(words) > 0 && !slices.ContainsFunc(words, func(forms []string) bool {
		return !slices.ContainsFunc(forms, func(form string) bool { return slices.Contains(have, form) })
	})
}

// nameMatch returns the grade of the name in a search for duplicates, where other fields are already equal.
func nameMatch(names []string, card *userindex.Card) search.Match {
	have := userindex.Written(card.FullName)
	weakest := search.Exact
	for _, name := range names {
		switch {
		case slices.Contains(have, name):
		case slices.ContainsFunc(have, func(w string) bool { return strings.HasPrefix(w, name) }):
			weakest = max(weakest, search.Begins)
		case soundsIn(name, card, false):
			weakest = max(weakest, search.Sound)
		default:
			return search.Tolerant
		}
	}
	return weakest
}
