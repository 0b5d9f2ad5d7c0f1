package document

import (
	"slices"
	"strconv"
	"strings"

	"github.com/labplatform/labplatform/pkg/lab/userindex"
	"github.com/labplatform/labplatform/services/cdc/internal/projection"
)

// identifiers are all that a search compares as a whole or by the beginning, each once.
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

// once returns the texts in order, without repeats and "".
func once(texts []string) []string {
	slices.Sort(texts)
	return slices.DeleteFunc(slices.Compact(texts), func(s string) bool { return s == "" })
}

// held are the identifiers in a field of a row.
type held struct {
	field string
	ids   []string
}

// lettered are the identifiers that hold more than a number of ours.
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

// numeric are the others.
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

// A counter's account has thousands of bills. All of them are found whole; the newest also in other forms, and fewer
// still are on the card, which each hit brings along.
const (
	formedEntries = 1000
	shownEntries  = userindex.MaxShown
)

// recent returns the row with the newest entries of its lists alone.
func recent(r *projection.Row, most int) *projection.Row {
	to := *r
	to.BillIDs, to.LabBillIDs, to.LabReportIDs = ends(r.BillIDs,
		most), ends(r.LabBillIDs, most), ends(r.LabReportIDs, most)
	to.OrderNumbers, to.LrfIDs = ends(r.OrderNumbers, most), ends(r.LrfIDs, most)
	to.SampleIDs, to.ManualSampleIDs = ends(r.SampleIDs, most), ends(r.ManualSampleIDs, most)
	return &to
}

func ends[T any](list []T, most int) []T { return list[max(0, len(list)-most):] }

// plain returns the row with its identifiers as they are read and asked for.
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

// plainTexts returns texts as they are read; most are so already, and lists may be long.
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

// compactForms are the forms of identifiers, whichever field they are of.
func compactForms(r *projection.Row) []string {
	forms := identifierForms(r)
	for i, form := range forms {
		_, forms[i], _ = strings.Cut(form, ":")
	}
	return once(forms)
}
