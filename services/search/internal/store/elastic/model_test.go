package elastic_test

import (
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/labplatform/labplatform/services/cdc/indextest"
	"github.com/labplatform/labplatform/services/search/internal/search"
)

// The model computes the tier of a patient for a text by comparing strings, without an index. Texts consist of ASCII
// letters, digits, blanks, hyphens and slashes. The result is the tier as a power of ten, or 0 for no match. The model
// covers neither sounds nor typing errors.
const (
	modelWhole  = 10
	modelName   = 9
	modelWords  = 8
	modelLast   = 7
	modelBegins = 6
	modelPart   = 5
	modelMixed  = 4
)

func visible(row *indextest.Row, labID, branchID int64) bool {
	return row.LabID == labID && !row.IsDeleted && (branchID == 0 || slices.Contains(row.BranchIDs, branchID))
}

func closeness(row *indextest.Row, text string, fields []search.Field) int {
	text = strings.ToLower(text)
	pieces := slices.DeleteFunc(strings.Fields(text), func(w string) bool { return len(tokens(w)) == 0 })
	name := ""
	if slices.Contains(fields, search.FullName) {
		name = strings.ToLower(row.FullName)
	}
	of := tokens(name)
	n := len(pieces)
	switch {
	case slices.ContainsFunc(fields, func(f search.Field) bool { return wholeValue(row, f, text) }):
		return modelWhole
	case name != "" && (name == text || name == strings.Join(pieces, " ")):
		return modelName
	case n > 0 && every(pieces, of, strings.EqualFold):
		return modelWords
	case n > 0 && every(pieces[:n-1], of, strings.EqualFold) && every(pieces[n-1:], of, strings.HasPrefix):
		return modelLast
	case n > 0 && every(pieces, of, strings.HasPrefix):
		return modelBegins
	case slices.ContainsFunc(fields, func(f search.Field) bool { return partOfValue(row, f, text) }):
		return modelPart
	case everywhere(row, pieces, of, fields):
		return modelMixed
	}
	return 0
}

func tokens(s string) []string {
	return strings.FieldsFunc(s, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
}

// every reports whether like holds for each token of pieces and some word of the name.
func every(pieces, of []string, like func(word, token string) bool) bool {
	for _, token := range tokens(strings.Join(pieces, " ")) {
		if !slices.ContainsFunc(of, func(word string) bool { return like(word, token) }) {
			return false
		}
	}
	return true
}

// everywhere reports whether each word is found in some field. Adjacent words of digits are one telephone number.
func everywhere(row *indextest.Row, pieces, of []string, fields []search.Field) bool {
	var joined []string
	for i, p := range pieces {
		if i > 0 && telephone(p) != "" && telephone(pieces[i-1]) != "" {
			joined[len(joined)-1] += " " + p
		} else {
			joined = append(joined, p)
		}
	}
	if len(joined) < 2 || len(joined) > 6 {
		return false
	}
	return !slices.ContainsFunc(joined, func(p string) bool {
		inName := every([]string{p}, of, strings.HasPrefix)
		return !inName && !slices.ContainsFunc(fields, func(f search.Field) bool { return partOfValue(row, f, p) })
	})
}

func values(row *indextest.Row, f search.Field) []string {
	texts := map[search.Field][]string{search.Email: {row.Email}, search.LabPatientID: {row.LabPatientID}, search.NationalID: {row.NationalIdentityNumber},
		search.PassportNo: {row.PassportNo}, search.OrderNumbers: row.OrderNumbers, search.LrfIDs: row.LrfIDs, search.SampleIDs: row.SampleIDs,
		search.ManualSampleIDs: row.ManualSampleIDs, search.Contact: {telephone(row.Contact)}, search.AlternateContact: {telephone(row.AlternateContact)}}
	numbers := map[search.Field][]int64{search.UserID: {row.UserID}, search.BillIDs: row.BillIDs, search.LabBillIDs: row.LabBillIDs, search.LabReportIDs: row.LabReportIDs}
	all := slices.Clone(texts[f])
	for _, n := range numbers[f] {
		all = append(all, strconv.FormatInt(n, 10))
	}
	for i := range all {
		all[i] = strings.ToLower(all[i])
	}
	return slices.DeleteFunc(all, func(v string) bool { return v == "" })
}

// typed returns the identifiers that a text may represent.
func typed(text string) []string {
	if compact := strings.ReplaceAll(text, " ", ""); strings.Trim(compact, "0123456789") == "" {
		return []string{text, compact}
	}
	return []string{text}
}

func wholeValue(row *indextest.Row, f search.Field, text string) bool {
	return slices.ContainsFunc(values(row, f), func(v string) bool {
		switch f.Kind() {
		case search.Phone:
			d := telephone(text)
			return d != "" && (slices.ContainsFunc(withAndWithoutCode(d, 10), func(n string) bool { return v == n }) || len(d) >= 10 && strings.HasSuffix(v, d[len(d)-10:]))
		case search.Mail:
			return v == text
		case search.Name:
			return false
		}
		return slices.Contains(typed(text), v)
	})
}

func partOfValue(row *indextest.Row, f search.Field, text string) bool {
	return slices.ContainsFunc(values(row, f), func(v string) bool {
		switch f.Kind() {
		case search.Phone:
			d := telephone(text)
			begins := func(n string) bool { return len(n) <= 15 && strings.HasPrefix(v, n) }
			return len(d) >= 3 && slices.ContainsFunc(withAndWithoutCode(d, 3), begins) || len(d) >= 4 && strings.HasSuffix(v, d[max(0, len(d)-10):])
		case search.Mail:
			return !strings.Contains(text, " ") && strings.HasPrefix(v, text)
		case search.Segmented:
			if len(text) >= 2 && !strings.ContainsAny(text, " -/") && slices.Contains(tokens(v), text) {
				return true
			}
		}
		return slices.ContainsFunc(typed(text), func(s string) bool { return strings.HasPrefix(v, s) })
	})
}

func withAndWithoutCode(d string, keep int) []string {
	all := []string{d}
	for _, code := range []string{"91", "0"} {
		if rest := strings.TrimPrefix(d, code); rest != d && len(rest) >= keep {
			all = append(all, rest)
		}
	}
	for _, n := range slices.Clone(all) {
		all = append(all, "91"+n, "0"+n)
	}
	return all
}

// telephone returns the digits of a text that has neither letters nor slashes.
func telephone(s string) string {
	if strings.ContainsFunc(s, func(r rune) bool { return unicode.IsLetter(r) || r == '/' }) {
		return ""
	}
	return strings.NewReplacer(" ", "", "-", "", "+", "").Replace(s)
}
