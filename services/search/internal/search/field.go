package search

import "slices"

// Field is a searchable field, named as in the index and the API.
type Field string

// Searchable fields.
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
	DateOfBirth      Field = "date_of_birth" // used only in searches for duplicates
)

// Kind is the way in which the values of a field are compared with a text.
type Kind int

// Kinds of comparison.
const (
	Identifier Kind = iota // exact or by prefix, without typing errors
	Segmented              // like Identifier, and by a segment between - / and ~
	Name                   // words in any order, also by prefix, by sound, and with small typing errors
	Phone                  // digits: all, or the first or last ones, with or without a country code
	Mail                   // exact or by prefix
	Day                    // exact
)

// Bucket is the kind of item whose field produced a hit.
type Bucket string

// Buckets. A hit by fields of several buckets belongs to the first of them.
const (
	Patient Bucket = "patient"
	Bill    Bucket = "bill"
	Order   Bucket = "order"
	Report  Bucket = "report"
	Sample  Bucket = "sample"
)

// Buckets returns all buckets in order.
func Buckets() []Bucket { return []Bucket{Patient, Bill, Order, Report, Sample} }

type trait struct {
	field  Field
	kind   Kind
	bucket Bucket
}

// traits lists the properties of all fields. Matched fields are returned in this order.
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

// Fields returns the fields searched with key All, in the order of traits.
func Fields() []Field {
	return slices.DeleteFunc(Explaining(), func(f Field) bool { return f.Kind() == Day })
}

// Explaining returns all fields by which a patient may be found, in the order of traits.
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

// Kind returns how values of the field are compared.
func (f Field) Kind() Kind { return traitOf[f].kind }

// Bucket returns the bucket of the field; "" for an unknown field.
func (f Field) Bucket() Bucket { return traitOf[f].bucket }
