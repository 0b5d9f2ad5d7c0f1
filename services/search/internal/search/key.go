package search

// Key selects fields to search.
type Key string

// Keys with special meanings.
const (
	All Key = "all" // all fields
	// Duplicate finds possible duplicates of a person before registration. Its text has a name and the birth date or the
	// telephone number.
	Duplicate Key = "duplicate"
)

// keys are the other keys with their fields, in the order used in messages.
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

// Keys returns every key.
func Keys() []Key {
	all := []Key{All}
	for _, k := range keys {
		all = append(all, k.key)
	}
	return all
}

// Fields returns the fields of the key; nil for an unknown key.
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
