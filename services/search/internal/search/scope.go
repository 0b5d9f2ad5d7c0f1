package search

import (
	"slices"

	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/pkg/lab/sight"
)

// ScopeOf returns what the caller may see. named is the request's lab_id, zero when it has none: callers
// may only repeat their own.
func ScopeOf(p authn.Principal, named int64) (Scope, error) {
	lab, err := p.Scope(named)
	if err != nil {
		return Scope{}, err
	}
	s, err := sight.Of(p, lab)
	return Scope{Lab: s.Lab, BranchID: s.BranchID, OrgID: s.OrgID, CCID: s.CCID}, err
}

// Places are the branches, organizations and collection centres of a patient, by the registration and by every bill.
type Places struct {
	BranchIDs, OrgIDs, CCIDs []int64
}

// Admits reports whether a patient of these places, in the laboratory of the scope, may be shown.
func (s Scope) Admits(p Places) bool {
	return in(s.BranchID, p.BranchIDs) && in(s.OrgID, p.OrgIDs) && in(s.CCID, p.CCIDs)
}

func in(limit int64, places []int64) bool { return limit == 0 || slices.Contains(places, limit) }
