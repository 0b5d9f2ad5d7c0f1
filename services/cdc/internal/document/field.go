package document

import (
	"encoding/base64"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/labplatform/labplatform/pkg/lab/userindex"
	"github.com/labplatform/labplatform/services/cdc/internal/projection"
)

// field is one field of the document, with its mapping and its encoder.
type field struct {
	name string
	kind kind
	// put appends the field's JSON value. It appends nothing if the row has no value.
	put func(b []byte, r *projection.Row) []byte
}

// fieldsOf returns the fields of a schema: the columns of user_meta without source_ts_ms, and the search forms that
// package userindex derives from them. A change here requires a new Schema.
func fieldsOf(schema int) []field {
	of := columns(formsOf(schema))
	return append(of, card(of))
}

// forms holds the functions by which a schema derives the search forms of a row.
type forms struct {
	sounds   string // name of the field with the phonetic forms
	heard    func(name string) []string
	words    func(name string) []string
	digits   func(number string) string
	readable func(*projection.Row) *projection.Row
}

func formsOf(schema int) forms {
	if schema == OldSchema {
		return forms{
			userindex.OldSounds, userindex.OldSoundForms, userindex.OldWords, userindex.OldDigits,
			func(r *projection.Row) *projection.Row { return r },
		}
	}
	return forms{userindex.Sounds, userindex.SoundForms, userindex.Words, userindex.Digits, plain}
}

func columns(f forms) []field {
	read := func(make func(*projection.Row) []string) func([]byte, *projection.Row) []byte {
		return texts(func(r *projection.Row) []string { return make(f.readable(r)) })
	}
	return []field{
		{"user_id", numbered, number(func(r *projection.Row) int64 { return r.UserID })},
		{userindex.VisibleIn, form, visibleIn},
		{"lab_id", integer, number(func(r *projection.Row) int64 { return r.LabID })},
		{"former_lab_ids", keptInteger, numbers(func(r *projection.Row) []int64 { return r.FormerLabIDs })},
		{"branch_id", keptInteger, optional(func(r *projection.Row) *int64 { return r.BranchID })},
		{"org_id", keptInteger, optional(func(r *projection.Row) *int64 { return r.OrgID })},
		{"cc_id", keptInteger, optional(func(r *projection.Row) *int64 { return r.CCID })},
		{"lab_patient_id", identifier, text(func(r *projection.Row) string { return r.LabPatientID })},
		{"full_name", person, text(func(r *projection.Row) string { return r.FullName })},
		{f.sounds, form, texts(func(r *projection.Row) []string { return f.heard(r.FullName) })},
		{userindex.Joined, joined, texts(func(r *projection.Row) []string { return userindex.Names(f.words(r.FullName)) })},
		{
			userindex.Misspelled,
			form,
			texts(func(r *projection.Row) []string { return userindex.Misspellings(f.words(r.FullName)) }),
		},
		{userindex.Identifiers, form, read(identifierForms)},
		{userindex.Compacted, form, read(compactForms)},
		{userindex.Beginnings, form, read(beginnings)},
		{userindex.Whole, begun, read(identifiers)},
		{userindex.Segments, segment, read(segmentedIDs)},
		{userindex.Phones, phone, texts(func(r *projection.Row) []string {
			return once([]string{f.digits(r.Contact), f.digits(r.AlternateContact)})
		})},
		{"contact", phone, text(func(r *projection.Row) string { return f.digits(r.Contact) })},
		{"alternate_contact", phone, text(func(r *projection.Row) string { return f.digits(r.AlternateContact) })},
		{"email", identifier, text(func(r *projection.Row) string { return r.Email })},
		{"gender", form, text(func(r *projection.Row) string { return r.Gender })},
		{"date_of_birth", day, text(func(r *projection.Row) string { return r.DateOfBirth })},
		{"age", form, text(func(r *projection.Row) string { return r.Age })},
		{"passport_no", identifier, text(func(r *projection.Row) string { return r.PassportNo })},
		{"national_identity_number", identifier, text(func(r *projection.Row) string { return r.NationalIdentityNumber })},
		{"bill_ids", identifier, numbers(func(r *projection.Row) []int64 { return r.BillIDs })},
		{"lab_bill_ids", identifier, numbers(func(r *projection.Row) []int64 { return r.LabBillIDs })},
		{"order_numbers", segmented, capitals(func(r *projection.Row) []string { return r.OrderNumbers })},
		{"lab_report_ids", identifier, numbers(func(r *projection.Row) []int64 { return r.LabReportIDs })},
		{"sample_ids", segmented, capitals(func(r *projection.Row) []string { return r.SampleIDs })},
		{"manual_sample_ids", segmented, capitals(func(r *projection.Row) []string { return r.ManualSampleIDs })},
		{"lrf_ids", identifier, texts(func(r *projection.Row) []string { return r.LrfIDs })},
		{"org_ids", integers, numbers(func(r *projection.Row) []int64 { return r.OrgIDs })},
		{"branch_ids", integers, numbers(func(r *projection.Row) []int64 { return r.BranchIDs })},
		{"cc_ids", integers, numbers(func(r *projection.Row) []int64 { return r.CCIDs })},
		{"rerun_report_ids", keptLong, numbers(func(r *projection.Row) []int64 { return r.RerunReportIDs })},
		{"last_bill_time", ranking, optional(func(r *projection.Row) *int64 { return r.LastBillTime })},
		{"is_deleted", boolean, func(b []byte, r *projection.Row) []byte { return strconv.AppendBool(b, r.IsDeleted) }},
		{"rev", long, number(func(r *projection.Row) int64 { return r.Rev })},
		{"updated_at", keptLong, number(func(r *projection.Row) int64 { return r.UpdatedAt })},
	}
}

func visibleIn(b []byte, r *projection.Row) []byte {
	if r.IsDeleted {
		return b
	}
	return quote(b, strconv.FormatInt(r.LabID, 10))
}

// card returns the field with the patient card. The card repeats some fields of the document; only long lists are cut
// to their newest entries.
func card(of []field) field {
	hidden := func(f field) bool { return !slices.Contains(userindex.CardFields, f.name) }
	shown := slices.DeleteFunc(slices.Clone(of), hidden)
	return field{userindex.Shown, stored, func(b []byte, r *projection.Row) []byte {
		if r.IsDeleted {
			return b
		}
		return append(base64.StdEncoding.AppendEncode(append(b, '"'), encode(shown, recent(r, shownEntries))), '"')
	}}
}

// inStub reports whether a stub has the field.
func inStub(name string) bool {
	switch name {
	case "user_id", "lab_id", "is_deleted", "rev":
		return true
	}
	return false
}

func number(get func(*projection.Row) int64) func([]byte, *projection.Row) []byte {
	return func(b []byte, r *projection.Row) []byte { return strconv.AppendInt(b, get(r), 10) }
}

func optional(get func(*projection.Row) *int64) func([]byte, *projection.Row) []byte {
	return func(b []byte, r *projection.Row) []byte {
		if v := get(r); v != nil {
			return strconv.AppendInt(b, *v, 10)
		}
		return b
	}
}

func text(get func(*projection.Row) string) func([]byte, *projection.Row) []byte {
	return func(b []byte, r *projection.Row) []byte {
		if v := get(r); v != "" {
			return quote(b, v)
		}
		return b
	}
}

func numbers(get func(*projection.Row) []int64) func([]byte, *projection.Row) []byte {
	return list(get, func(b []byte, v int64) []byte { return strconv.AppendInt(b, v, 10) })
}

func texts(get func(*projection.Row) []string) func([]byte, *projection.Row) []byte {
	return list(get, quote)
}

func capitals(get func(*projection.Row) []string) func([]byte, *projection.Row) []byte {
	return list(get, func(b []byte, v string) []byte { return quote(b, strings.ToUpper(v)) })
}

func list[T any](get func(*projection.Row) []T, put func([]byte, T) []byte) func([]byte, *projection.Row) []byte {
	return func(b []byte, r *projection.Row) []byte {
		values := get(r)
		if len(values) == 0 {
			return b
		}
		open := byte('[')
		for _, v := range values {
			b = put(append(b, open), v)
			open = ','
		}
		return append(b, ']')
	}
}

// quote appends s as a JSON string; invalid UTF-8 becomes U+FFFD.
func quote(b []byte, s string) []byte {
	b, _ = jsontext.AppendQuote(b, s)
	return b
}
