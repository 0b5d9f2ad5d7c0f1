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

func telephones(r *projection.Row) []string {
	return once([]string{Digits(r.Contact), Digits(r.AlternateContact)})
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

func identifierForms(r *projection.Row) []string {
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
