package document

import (
	"slices"
	"strconv"
	"strings"

	"github.com/labplatform/labplatform/pkg/lab/userindex"
	"github.com/labplatform/labplatform/services/cdc/internal/projection"
)

// identifiers returns all values that are searched exactly or by prefix, without duplicates.
func identifiers(r *projection.Row) []string {
	all := []string{r.LabPatientID, r.PassportNo, r.NationalIdentityNumber, r.Email}
	for _, h := range numeric(r) {
		all = append(all, h.ids...)
	}
	return once(append(append(all, segmentedIDs(r)...), r.LrfIDs...))
}

func segmentedIDs(r *projection.Row) []string {
	var all []string
	for _, ids := range [][]string{r.OrderNumbers, r.SampleIDs, r.ManualSampleIDs} {
		for _, id := range ids {
			all = append(all, strings.ToUpper(id))
		}
	}
	return once(all)
}

// once returns the texts sorted, without duplicates and without empty ones.
func once(texts []string) []string {
	slices.Sort(texts)
	return slices.DeleteFunc(slices.Compact(texts), func(s string) bool { return s == "" })
}

// held holds the identifiers of one field of a row.
type held struct {
	field string
	ids   []string
}

// lettered returns the identifiers that may contain letters.
func lettered(r *projection.Row) []held {
	return []held{
		{"lab_patient_id", []string{r.LabPatientID}},
		{"passport_no", []string{r.PassportNo}},
		{"national_identity_number", []string{r.NationalIdentityNumber}},
		{"order_numbers", r.OrderNumbers},
		{"sample_ids", r.SampleIDs},
		{"manual_sample_ids", r.ManualSampleIDs},
		{"lrf_ids", r.LrfIDs},
	}
}

// numeric returns the identifiers that are numbers of the platform.
func numeric(r *projection.Row) []held {
	return []held{
		{"user_id", decimals(r.UserID)},
		{"bill_ids", decimals(r.BillIDs...)},
		{"lab_bill_ids", decimals(r.LabBillIDs...)},
		{"lab_report_ids", decimals(r.LabReportIDs...)},
	}
}

func decimals(ids ...int64) []string {
	all := make([]string, len(ids))
	for i, id := range ids {
		all[i] = strconv.FormatInt(id, 10)
	}
	return all
}

// Limits of the list entries with additional forms. The account of a walk-in counter has thousands of bills: all are
// found by the complete number, the newest also in other forms, and only a few are on the card, which is part of every
// hit.
const (
	formedEntries = 1000
	shownEntries  = userindex.MaxShown
)

// recent returns the row with lists cut to their newest entries.
func recent(r *projection.Row, most int) *projection.Row {
	to := *r
	to.BillIDs, to.LabBillIDs, to.LabReportIDs = ends(r.BillIDs,
		most), ends(r.LabBillIDs, most), ends(r.LabReportIDs, most)
	to.OrderNumbers, to.LrfIDs = ends(r.OrderNumbers, most), ends(r.LrfIDs, most)
	to.SampleIDs, to.ManualSampleIDs = ends(r.SampleIDs, most), ends(r.ManualSampleIDs, most)
	return &to
}

func ends[T any](list []T, most int) []T { return list[max(0, len(list)-most):] }

// plain returns the row with its identifiers in the normal form of package userindex, which searches use too.
func plain(r *projection.Row) *projection.Row {
	to := *r
	for _, id := range []*string{&to.LabPatientID, &to.PassportNo, &to.NationalIdentityNumber, &to.Email} {
		*id = userindex.Plain(*id)
	}
	for _, ids := range []*[]string{&to.OrderNumbers, &to.SampleIDs, &to.ManualSampleIDs, &to.LrfIDs} {
		*ids = plainTexts(*ids)
	}
	return &to
}

// plainTexts returns texts in normal form. It returns the same slice if nothing changes, which is usual, because lists
// may be long.
func plainTexts(texts []string) []string {
	if !slices.ContainsFunc(texts, func(s string) bool { return userindex.Plain(s) != s }) {
		return texts
	}
	read := make([]string, len(texts))
	for i, s := range texts {
		read[i] = userindex.Plain(s)
	}
	return read
}

func identifierForms(r *projection.Row) []string {
	r = recent(r, formedEntries)
	var forms []string
	for _, h := range lettered(r) {
		for _, id := range h.ids {
			for _, form := range userindex.Compacts(id) {
				forms = append(forms, userindex.IdentifierForm(h.field, form))
			}
		}
	}
	return forms
}

func beginnings(r *projection.Row) []string {
	r = recent(r, formedEntries)
	var forms []string
	for _, h := range append(numeric(r), lettered(r)...) {
		for _, id := range h.ids {
			forms = append(forms, userindex.BeginningForms(h.field, id)...)
		}
	}
	return once(forms)
}

// compactForms returns the search forms of identifiers without the name of their field.
func compactForms(r *projection.Row) []string {
	forms := identifierForms(r)
	for i, form := range forms {
		_, forms[i], _ = strings.Cut(form, ":")
	}
	return once(forms)
}
