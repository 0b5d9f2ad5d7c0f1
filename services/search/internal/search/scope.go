package search

import (
	"slices"

	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/pkg/lab/sight"
)

// ScopeOf returns what the caller may see. named is the lab_id of the request, or zero if absent. Callers may only name
// their own laboratory.
func ScopeOf(p authn.Principal, named int64) (Scope, error) {
	lab, err := p.Scope(named)
	if err != nil {
		return Scope{}, err
	}
	s, err := sight.Of(p, lab)
	return Scope{Lab: s.Lab, BranchID: s.BranchID, OrgID: s.OrgID, CCID: s.CCID}, err
}

// Places are the affiliations of a patient: the branches, organizations and collection centres of the registration and
// of all bills, and the organizations of all reports.
type Places struct {
	BranchIDs, OrgIDs, CCIDs []int64
}

// Admits reports whether the scope includes a patient of its laboratory with these affiliations.
func (s Scope) Admits(p Places) bool {
	return in(s.BranchID, p.BranchIDs) && in(s.OrgID, p.OrgIDs) && in(s.CCID, p.CCIDs)
}

func in(limit int64, places []int64) bool { return limit == 0 || slices.Contains(places, limit) }
