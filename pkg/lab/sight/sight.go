// Package sight owns which bills of its laboratory a login sees.
package sight

import (
	"strings"

	"github.com/labplatform/labplatform/pkg/apperr"
	"github.com/labplatform/labplatform/pkg/authn"
)

// ErrNoScope reports that a login which sees only its own patients does not say whose it is.
var ErrNoScope = apperr.New(apperr.Forbidden, "SCOPE_MISSING",
	"This login names no organization or collection centre, so it has no patients to show. Log in again; if it stays, ask the laboratory.")

// Sight is what a login sees: the laboratory's bills, or those of its branch, organization, collection centre or
// referring doctor. Every limit that a login has applies, whatever the type of its session is.
type Sight struct {
	Lab      authn.LabScope
	BranchID int64 // 0: all branches
	OrgID    int64 // 0: all organizations
	CCID     int64 // 0: all collection centres
	OwnBills bool
	DoctorID int64 // of the bills, if OwnBills is true
}

// Of returns what p sees of a laboratory that it may work for.
func Of(p authn.Principal, lab authn.LabScope) (Sight, error) {
	if (p.SessionType == authn.Organization && p.OrgID == 0) || (p.SessionType == authn.CollectionCenter && p.CCID == 0) {
		return Sight{}, ErrNoScope
	}
	s := Sight{Lab: lab, BranchID: p.BranchID, OrgID: p.OrgID, CCID: p.CCID}
	s.DoctorID, s.OwnBills = p.ReferringDoctor()
	return s, nil
}

// IsOutside reports whether the login is of people outside the laboratory: an organization, centre or referring doctor.
func (s Sight) IsOutside() bool { return s.OrgID != 0 || s.CCID != 0 || s.OwnBills }

// Conditions returns the conditions of the sight, each with AND before it: fulfils says for a column of billing how a
// row fulfils it, with a mark for each place of the id.
func (s Sight) Conditions(fulfils func(column string) string) (where string, args []any) {
	for _, l := range []struct {
		column  string
		id      int64
		applies bool
	}{
		{"branchId", s.BranchID, s.BranchID != 0},
		{"orgId_id", s.OrgID, s.OrgID != 0},
		{"ccId_id", s.CCID, s.CCID != 0},
		{"docId_id", s.DoctorID, s.OwnBills},
	} {
		if !l.applies {
			continue
		}
		condition := fulfils(l.column)
		where += " AND " + condition
		for range strings.Count(condition, "?") {
			args = append(args, l.id)
		}
	}
	return where, args
}

// OfBill is how a row of billing, joined as b, fulfils a condition.
func OfBill(column string) string { return "b." + column + " = ?" }

// Columns are the columns of billing that Conditions needs.
func Columns() []string { return []string{"branchId", "orgId_id", "ccId_id", "docId_id"} }
