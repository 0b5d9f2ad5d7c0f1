package projection

import (
	"cmp"
	"slices"
	"strings"
)

const maxFullName = 400 // characters of the column; the parts may have 403 together

// Compute returns the patient's row for the sources, without Rev and UpdatedAt. previous is the stored row, nil or a
// stub if there is none; previous laboratories are taken from it.
//
// Only rows of the patient's current laboratory are used. For a deleted patient, or one without a source row, only the
// laboratories are kept: they are needed for stubs in the index, and all personal data must be removed.
func Compute(userID int64, s Sources, previous *Row) Row {
	if s.Patient != nil && s.Patient.LabID == 0 {
		s.Patient = nil // the patient was removed from the laboratory, which must not find it any more
	}
	row := Row{UserID: userID, IsDeleted: s.Patient == nil || s.Patient.IsDeleted}
	row.LabID, row.FormerLabIDs = routes(s.Patient, previous)
	if row.IsDeleted {
		return row
	}
	s = s.within(row.LabID)
	row.person(s.Patient)
	row.bills(s)
	row.reports(s.Reports)
	row.scopes(s)
	return row
}

// routes returns the current laboratory and the previous ones in ascending order.
func routes(p *Patient, previous *Row) (current int64, left []int64) {
	if previous == nil {
		previous = &Row{}
	}
	current = previous.LabID
	if p != nil {
		current = p.LabID
	}
	left = slices.Clone(previous.FormerLabIDs)
	if previous.LabID != 0 {
		left = append(left, previous.LabID)
	}
	left = slices.DeleteFunc(left, func(lab int64) bool { return lab == current || lab == 0 })
	slices.Sort(left)
	return current, orNil(slices.Compact(left))
}

// within returns the rows of one laboratory, ordered by id with the newest last.
func (s Sources) within(labID int64) Sources {
	kept := Sources{Patient: s.Patient}
	for _, b := range s.Bills {
		if b.LabID == labID {
			kept.Bills = append(kept.Bills, b)
		}
	}
	for _, r := range s.Reports {
		if r.LabID == labID {
			kept.Reports = append(kept.Reports, r)
		}
	}
	slices.SortFunc(kept.Bills, func(a, b Bill) int { return cmp.Compare(a.ID, b.ID) })
	slices.SortFunc(kept.Reports, func(a, b Report) int { return cmp.Compare(a.ID, b.ID) })
	return kept
}

func (r *Row) person(p *Patient) {
	r.BranchID, r.OrgID, r.CCID = p.BranchID, p.OrgID, p.CCID
	r.LabPatientID, r.FullName = p.LabPatientID, p.name()
	r.Contact, r.AlternateContact, r.Email = p.Contact, p.AlternateContact, p.Email
	r.Gender, r.DateOfBirth, r.Age = p.Gender, p.DateOfBirth, p.Age
	r.PassportNo, r.NationalIdentityNumber = p.PassportNo, p.NationalIdentityNumber
}

// name returns the full name on one line. If it is empty, it is composed of its parts.
func (p *Patient) name() string {
	words := strings.Fields(p.FullName)
	if len(words) == 0 {
		words = strings.Fields(strings.Join([]string{p.Designation, p.FirstName, p.MiddleName, p.LastName}, " "))
	}
	name := strings.Join(words, " ")
	if runes := []rune(name); len(runes) > maxFullName {
		return string(runes[:maxFullName])
	}
	return name
}

func (r *Row) bills(s Sources) {
	for _, b := range s.Bills {
		if r.LastBillTime == nil || b.Time > *r.LastBillTime {
			r.LastBillTime = &b.Time
		}
	}
	r.BillIDs = newest(s.Bills, func(b Bill) int64 { return b.ID })
	r.LabBillIDs = newest(s.Bills, func(b Bill) int64 { return b.LabBillID })
	r.OrderNumbers = newest(s.Bills, func(b Bill) string { return b.OrderNumber })
}

func (r *Row) reports(reports []Report) {
	r.LabReportIDs = newest(reports, func(r Report) int64 { return r.ID })
	r.SampleIDs = newest(reports, func(r Report) string { return r.SampleID })
	r.ManualSampleIDs = newest(reports, func(r Report) string { return r.ManualSampleID })
	r.LrfIDs = newest(reports, func(r Report) string { return r.LrfID })
	r.RerunReportIDs = newest(reports, func(r Report) int64 {
		if r.RerunOpen {
			return r.ID
		}
		return 0
	})
}

// scopes sets the branches, organizations and centres that may see the patient: those of the registration and of all
// bills, with the organizations of all reports, in ascending order.
func (r *Row) scopes(s Sources) {
	orgs, branches, centres := []*int64{s.Patient.OrgID}, []*int64{s.Patient.BranchID}, []*int64{s.Patient.CCID}
	for _, b := range s.Bills {
		orgs, branches, centres = append(orgs, b.OrgID), append(branches, b.BranchID), append(centres, b.CCID)
	}
	for _, report := range s.Reports {
		orgs = append(orgs, report.OrgID)
	}
	r.OrgIDs, r.BranchIDs, r.CCIDs = ascending(orgs), ascending(branches), ascending(centres)
}

func ascending(ids []*int64) []int64 {
	list := newest(ids, func(id *int64) int64 {
		if id == nil {
			return 0
		}
		return *id
	})
	slices.Sort(list)
	return list
}
