package search

// Key selects the fields of a search.
type Key string

// Keys that are more than a choice of fields.
const (
	All Key = "all" // every field
	// Duplicate finds who may be the person of the text, which names one and tells the birth date or the telephone: before
	// someone is registered twice.
	Duplicate Key = "duplicate"
)

// keys are the mappings beside All, in the order in which people are told about them.
var keys = []struct {
	key    Key
	fields []Field
}{
	{"name", []Field{FullName}},
	{"contact", []Field{Contact, AlternateContact}},
	{"email", []Field{Email}},
	{"patient_id", []Field{UserID, LabPatientID}},
	{"national_id", []Field{NationalID, PassportNo}},
	{"bill", []Field{BillIDs, LabBillIDs}},
	{"order", []Field{OrderNumbers}},
	{"report", []Field{LabReportIDs, LrfIDs}},
	{"sample", []Field{SampleIDs, ManualSampleIDs}},
	{Duplicate, []Field{FullName, Contact, AlternateContact, DateOfBirth}},
}

// Keys lists every key.
func Keys() []Key {
	all := []Key{All}
	for _, k := range keys {
		all = append(all, k.key)
	}
	return all
}

// Fields lists the fields of the key in the order of the table of fields; nil for an unknown key.
func (k Key) Fields() []Field {
	if k == All {
		return Fields()
	}
	for _, one := range keys {
		if one.key == k {
			return one.fields
		}
	}
	return nil
}
