package search

import (
	"slices"

	"github.com/labplatform/labplatform/pkg/apperr"
	"github.com/labplatform/labplatform/pkg/authn"
)

// ErrNoScope reports that a login which sees only its own patients does not say whose it is.
var ErrNoScope = apperr.New(apperr.Forbidden, "SCOPE_MISSING",
	"This login names no organization or collection centre, so it has no patients to show. Log in again; if it stays, ask the laboratory.")

// ScopeOf returns what the caller may see. named is the request's lab_id, zero when it has none: callers
// may only repeat their own.
func ScopeOf(p authn.Principal, named int64) (Scope, error) {
	lab, err := p.Scope(named)
	if err != nil {
		return Scope{}, err
	}
	if (p.SessionType == authn.Organization && p.OrgID == 0) || (p.SessionType == authn.CollectionCenter && p.CCID == 0) {
		return Scope{}, ErrNoScope
	}
	return Scope{Lab: lab, BranchID: p.BranchID, OrgID: p.OrgID, CCID: p.CCID}, nil
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
