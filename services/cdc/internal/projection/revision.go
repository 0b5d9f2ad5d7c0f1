package projection

import (
	"reflect"
	"time"
)

// NextRev returns the revision for a write. It is above the stored one and not behind the clock, so that a row that was
// deleted and created again gets a higher one. indexVersion is the document version that a forced write must exceed, 0
// if unknown; a document of revision v has version 2v, 2v+1 or, if it was purged, 2v+2.
func NextRev(stored int64, now time.Time, indexVersion int64) int64 {
	return max(stored+1, now.UnixMicro(), indexVersion/2+1)
}

// Equal reports whether two rows are equal, ignoring Rev and the times of their writes.
func (r Row) Equal(o Row) bool {
	r.Rev, r.UpdatedAt = o.Rev, o.UpdatedAt
	return reflect.DeepEqual(r, o)
}

// Capped reports whether a list has MaxEntries entries, so that older ones may be missing.
func (r Row) Capped() bool {
	return max(len(r.BillIDs), len(r.LabBillIDs), len(r.OrderNumbers), len(r.LabReportIDs),
		len(r.SampleIDs), len(r.ManualSampleIDs), len(r.LrfIDs)) >= MaxEntries
}

// WithoutPerson returns the row as it was before the second migration of user_meta.
func (r Row) WithoutPerson() Row {
	r.FullName, r.Contact, r.AlternateContact, r.Email, r.Gender = "", "", "", "", ""
	r.DateOfBirth, r.Age, r.PassportNo, r.NationalIdentityNumber = "", "", "", ""
	return r
}
