package ranking

import (
	"slices"
	"strings"

	"github.com/labplatform/labplatform/pkg/lab/userindex"
	"github.com/labplatform/labplatform/services/search/internal/search"
)

// Match grades a hit by the weakest step that was needed for it, so that no one takes a guess for the person who was
// asked for.
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

// weakest is the grade of the word that needed most.
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

// match is how a word stands on the card: the closest of its places that shows, else by its sound or with an error.
// alone: the text has no other word.
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
		case strings.HasSuffix(l.found.Field, ".prefix"):
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

// writtenMatch grades a name whose words are joined or apart: one in another script only sounds alike.
func writtenMatch(named string, card *userindex.Card) search.Match {
	forms := userindex.Names(userindex.Written(card.FullName))
	begins := func(word string) bool {
		return slices.ContainsFunc(forms, func(form string) bool { return strings.HasPrefix(form, word) })
	}
	for _, way := range userindex.Joins(userindex.Written(named)) {
		if !slices.ContainsFunc(way, func(word string) bool { return !begins(word) }) {
			return search.Exact
		}
	}
	return search.Sound
}

// soundsIn reports whether each word of a part of a name has the sound of one on the card.
func soundsIn(piece string, card *userindex.Card, alone bool) bool {
	have := userindex.SoundForms(card.FullName)
	words := userindex.SoundTexts(piece, alone)
	return len(words) > 0 && !slices.ContainsFunc(words, func(forms []string) bool {
		return !slices.ContainsFunc(forms, func(form string) bool { return slices.Contains(have, form) })
	})
}

// nameMatch grades how well the name matches in a search for duplicates, where other fields agree already.
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
