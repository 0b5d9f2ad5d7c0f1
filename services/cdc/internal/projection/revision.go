package projection

import (
	"slices"
	"time"
)

// NextRev returns the revision of a write: above the stored one and not behind the clock, so that a row which was
// deleted and made again stays in order. indexVersion is the version of the document that a forced write has to
// beat, 0 when none is known; a document of revision v has version 2v, 2v+1 or, when it was purged, 2v+2.
func NextRev(stored int64, now time.Time, indexVersion int64) int64 {
	return max(stored+1, now.UnixMicro(), indexVersion/2+1)
}

// Equal tells whether two rows say the same. When and how often they were written does not count.
func (r Row) Equal(o Row) bool {
	return r.UserID == o.UserID && r.LabID == o.LabID && r.IsDeleted == o.IsDeleted &&
		same(r.BranchID,
			o.BranchID) && same(r.OrgID, o.OrgID) && same(r.CCID, o.CCID) && same(r.LastBillTime, o.LastBillTime) &&
		r.equalPerson(o) && r.equalNumbers(o) && r.equalTexts(o)
}

func (r Row) equalPerson(o Row) bool {
	return r.LabPatientID == o.LabPatientID && r.FullName == o.FullName && r.Contact == o.Contact &&
		r.AlternateContact == o.AlternateContact && r.Email == o.Email && r.Gender == o.Gender &&
		r.DateOfBirth == o.DateOfBirth && r.Age == o.Age && r.PassportNo == o.PassportNo &&
		r.NationalIdentityNumber == o.NationalIdentityNumber
}

func (r Row) equalNumbers(o Row) bool {
	return slices.Equal(r.FormerLabIDs, o.FormerLabIDs) && slices.Equal(r.BillIDs, o.BillIDs) &&
		slices.Equal(r.LabBillIDs, o.LabBillIDs) && slices.Equal(r.LabReportIDs, o.LabReportIDs) &&
		slices.Equal(r.OrgIDs, o.OrgIDs) && slices.Equal(r.BranchIDs, o.BranchIDs) && slices.Equal(r.CCIDs, o.CCIDs) &&
		slices.Equal(r.RerunReportIDs, o.RerunReportIDs)
}

func (r Row) equalTexts(o Row) bool {
	return slices.Equal(r.OrderNumbers, o.OrderNumbers) && slices.Equal(r.SampleIDs, o.SampleIDs) &&
		slices.Equal(r.ManualSampleIDs, o.ManualSampleIDs) && slices.Equal(r.LrfIDs, o.LrfIDs)
}

func same(a, b *int64) bool {
	if a == nil || b == nil {
		return a == b
	}
	return *a == *b
}

// Capped tells whether a list reached MaxEntries: then the patient may have more.
func (r Row) Capped() bool {
	return max(len(r.BillIDs), len(r.LabBillIDs), len(r.OrderNumbers), len(r.LabReportIDs),
		len(r.SampleIDs), len(r.ManualSampleIDs), len(r.LrfIDs)) >= MaxEntries
}

// WithoutPerson returns the row as it is before the second migration of user_meta.
func (r Row) WithoutPerson() Row {
	r.FullName, r.Contact, r.AlternateContact, r.Email, r.Gender = "", "", "", "", ""
	r.DateOfBirth, r.Age, r.PassportNo, r.NationalIdentityNumber = "", "", "", ""
	return r
}
