// Package sight determines which bills of its laboratory a login sees.
package sight

import (
	"strings"

	"github.com/labplatform/labplatform/pkg/apperr"
	"github.com/labplatform/labplatform/pkg/authn"
)

// ErrNoScope is returned for a login of an organization or collection centre that does not name it.
var ErrNoScope = apperr.New(apperr.Forbidden, "SCOPE_MISSING",
	"This login names no organization or collection centre, so it has no patients to show. Log in again; if it stays, ask the laboratory.")

// Sight is the part of a laboratory's bills that a login sees: all, or those of its branch, organization, collection
// centre or referring doctor. All limits of a login apply together, whatever its session type.
type Sight struct {
	Lab      authn.LabScope
	BranchID int64 // 0: all branches
	OrgID    int64 // 0: all organizations
	CCID     int64 // 0: all collection centres
	OwnBills bool
	DoctorID int64 // referring doctor of the bills, if OwnBills is true
}

// Of returns the bills of a laboratory that p sees. It does not check that p may access the laboratory. It may return
// ErrNoScope.
func Of(p authn.Principal, lab authn.LabScope) (Sight, error) {
	if (p.SessionType == authn.Organization && p.OrgID == 0) || (p.SessionType == authn.CollectionCenter && p.CCID == 0) {
		return Sight{}, ErrNoScope
	}
	s := Sight{Lab: lab, BranchID: p.BranchID, OrgID: p.OrgID, CCID: p.CCID}
	s.DoctorID, s.OwnBills = p.ReferringDoctor()
	return s, nil
}

// IsOutside reports whether the login belongs to people outside the laboratory: an organization, centre or referring
// doctor.
func (s Sight) IsOutside() bool { return s.OrgID != 0 || s.CCID != 0 || s.OwnBills }

// Conditions returns the SQL conditions of the sight, each preceded by AND, and their arguments. fulfils returns the
// condition for a column of billing; each question mark in it stands for the id.
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

// OfBill returns the condition for a query that joins billing as b.
func OfBill(column string) string { return "b." + column + " = ?" }

// Columns returns the columns of billing that Conditions needs.
func Columns() []string { return []string{"branchId", "orgId_id", "ccId_id", "docId_id"} }
