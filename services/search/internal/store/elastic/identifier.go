package elastic

import (
	"slices"
	"strings"

	"github.com/labplatform/labplatform/services/search/internal/search"
)

// numbered are the fields that hold only numbers: other texts are not compared with them.
var numbered = []search.Field{search.UserID, search.BillIDs, search.LabBillIDs, search.LabReportIDs}

// identifiers finds the text as an identifier, as the beginning of one, or as a part.
func identifiers(t text, f search.Field, effort search.Effort) []clause {
	texts := t.identifiers()
	if slices.Contains(numbered, f) {
		texts = slices.DeleteFunc(texts, func(s string) bool { return !isDigits(s) })
	}
	if len(texts) == 0 || t.whole == "" {
		return nil
	}
	all := []clause{{tier: tierWhole, field: f, found: equal(string(f), texts)}}
	if effort == search.Least {
		return all
	}
	var parts []query
	for _, s := range texts {
		parts = append(parts, identifierParts(s, f)...)
	}
	return append(all, clause{tier: tierPart, field: f, found: either(parts...)})
}

func identifierParts(s string, f search.Field) []query {
	parts := []query{match(prefix(f), s)}
	if f.Kind() == search.Segmented && isPart(s) {
		parts = append(parts, match(string(f)+".segment", s))
	}
	return parts
}

// mails finds the text as an address or as the beginning of one.
func mails(t text, f search.Field, effort search.Effort) []clause {
	if t.whole == "" || strings.ContainsRune(t.whole, ' ') {
		return nil
	}
	all := []clause{{tier: tierWhole, field: f, found: term(string(f), t.whole)}}
	if effort == search.Least {
		return all
	}
	return append(all, clause{tier: tierPart, field: f, found: compare(begins, string(f), t.whole)})
}
