package search

import "slices"

// Field is a searchable field of the index, by its name there and on the wire.
type Field string

// The fields.
const (
	FullName         Field = "full_name"
	Contact          Field = "contact"
	AlternateContact Field = "alternate_contact"
	Email            Field = "email"
	UserID           Field = "user_id"
	LabPatientID     Field = "lab_patient_id"
	NationalID       Field = "national_identity_number"
	PassportNo       Field = "passport_no"
	BillIDs          Field = "bill_ids"
	LabBillIDs       Field = "lab_bill_ids"
	OrderNumbers     Field = "order_numbers"
	LabReportIDs     Field = "lab_report_ids"
	LrfIDs           Field = "lrf_ids"
	SampleIDs        Field = "sample_ids"
	ManualSampleIDs  Field = "manual_sample_ids"
	DateOfBirth      Field = "date_of_birth" // of duplicates only
)

// Kind is how a field is compared with what was typed.
type Kind int

// The kinds.
const (
	Identifier Kind = iota // whole, or by its beginning; never with a typing error
	Segmented              // an identifier found also by one of its parts between - / and ~
	Name                   // words in any order, by their beginnings, by sound, and with small typing errors
	Phone                  // digits: whole, the first or the last of them, with and without a country code
	Mail                   // whole, or by its beginning
	Day                    // whole
)

// Bucket is the family of identifiers that produced a hit.
type Bucket string

// The buckets, in the order in which a hit that several of them produced is counted.
const (
	Patient Bucket = "patient"
	Bill    Bucket = "bill"
	Order   Bucket = "order"
	Report  Bucket = "report"
	Sample  Bucket = "sample"
)

// Buckets lists them in that order.
func Buckets() []Bucket { return []Bucket{Patient, Bill, Order, Report, Sample} }

type trait struct {
	field  Field
	kind   Kind
	bucket Bucket
}

// traits is the one table of fields; answers name matched fields in its order.
var traits = []trait{
	{FullName, Name, Patient},
	{Contact, Phone, Patient},
	{AlternateContact, Phone, Patient},
	{Email, Mail, Patient},
	{UserID, Identifier, Patient},
	{LabPatientID, Identifier, Patient},
	{NationalID, Identifier, Patient},
	{PassportNo, Identifier, Patient},
	{BillIDs, Identifier, Bill},
	{LabBillIDs, Identifier, Bill},
	{OrderNumbers, Segmented, Order},
	{LabReportIDs, Identifier, Report},
	{LrfIDs, Identifier, Report},
	{SampleIDs, Segmented, Sample},
	{ManualSampleIDs, Segmented, Sample},
	{DateOfBirth, Day, Patient},
}

// Fields lists every field that All searches, in the order of the table.
func Fields() []Field {
	return slices.DeleteFunc(Explaining(), func(f Field) bool { return f.Kind() == Day })
}

// Explaining lists every field that can be why a patient was found, in the order of the table.
func Explaining() []Field {
	all := make([]Field, len(traits))
	for i, t := range traits {
		all[i] = t.field
	}
	return all
}

var traitOf = byField(traits)

func byField(traits []trait) map[Field]trait {
	all := make(map[Field]trait, len(traits))
	for _, t := range traits {
		all[t.field] = t
	}
	return all
}

// Kind tells how the field is compared.
func (f Field) Kind() Kind { return traitOf[f].kind }

// Bucket tells the family of the field; "" for a name that is no field.
func (f Field) Bucket() Bucket { return traitOf[f].bucket }
