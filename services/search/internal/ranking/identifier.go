package ranking

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/labplatform/labplatform/pkg/lab/userindex"
	"github.com/labplatform/labplatform/services/search/internal/search"
)

// numbered are the fields that contain only numbers. They are not compared with other texts.
var numbered = []search.Field{search.UserID, search.BillIDs, search.LabBillIDs, search.LabReportIDs}

// identifiers appends clauses for the text as an identifier of the field, as its beginning, or as a part of it.
func identifiers(all []clause, t text, f search.Field, effort search.Effort) []clause {
	texts := comparedTexts(t, f)
	if len(texts) == 0 {
		return all
	}
	all = append(all, clause{tier: tierWhole, field: f, found: equal(string(f), texts)})
	if effort == search.Least {
		return all
	}
	return append(all, clause{tier: tierPart, field: f, found: identifierPart(texts, f)})
}

// comparedTexts returns the texts to compare with identifiers of the field.
func comparedTexts(t text, f search.Field) []string {
	if slices.Contains(numbered, f) {
		return t.numbers
	}
	return t.identifiers
}

// identifierPart returns a query for identifiers that begin with one of texts or contain it as a segment.
func identifierPart(texts []string, f search.Field) Query {
	parts := make([]Query, 0, 2*len(texts))
	for _, s := range texts {
		begins := match(prefix(f), s)
		if utf8.RuneCountInString(s) > userindex.MaxForm { // longer than the indexed prefixes
			begins = compare(Begins, string(f), s)
		}
		parts = append(parts, begins)
		if f.Kind() == search.Segmented && isPart(s) {
			parts = append(parts, match(segmentsOf[f], s))
		}
	}
	return either(parts...)
}

var segmentsOf = partNames("segment")

// mails appends clauses for the text as an e-mail address or its beginning.
func mails(all []clause, t text, f search.Field, effort search.Effort) []clause {
	if !mayBeMail(t) {
		return all
	}
	all = append(all, clause{tier: tierWhole, field: f, found: term(string(f), t.whole)})
	if effort == search.Least {
		return all
	}
	return append(all, clause{tier: tierPart, field: f, found: mailBegins(t, f)})
}

func mayBeMail(t text) bool { return t.whole != "" && !strings.ContainsRune(t.whole, ' ') }

func mailBegins(t text, f search.Field) Query { return compare(Begins, string(f), t.whole) }
