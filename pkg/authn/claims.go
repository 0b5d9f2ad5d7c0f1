package authn

import (
	"encoding/json"

	"github.com/golang-jwt/jwt/v5"
)

// identity holds the fields that a session document in the cache and a user token's claims have in common.
type identity struct {
	SessionType        SessionType `json:"session_type"`
	LabID              *int64      `json:"lab_id"`
	BranchID           *int64      `json:"branch_id"`
	OrgID              *int64      `json:"org_id"`
	CCID               *int64      `json:"cc_id"`
	LabUserID          *int64      `json:"lab_user_id"`
	Username           string      `json:"username"`
	FullName           string      `json:"full_name"`
	DoctorID           *int64      `json:"doctor_id"`
	DocType            *int        `json:"doc_type"`
	DepartmentDataType int         `json:"department_data_type"`
	DepartmentIDs      []int64     `json:"department_ids"`
	Permissions        []string    `json:"permissions"`
	IsGlobalAdmin      bool        `json:"is_global_admin"`
	CreatedAt          json.Number `json:"created_at"`
}

type userClaims struct {
	identity
	jwt.RegisteredClaims
}

func (i identity) principal(kind Kind) Principal {
	return Principal{
		Kind: kind, SessionType: i.SessionType,
		LabID: value(i.LabID), BranchID: value(i.BranchID), OrgID: value(i.OrgID), CCID: value(i.CCID),
		LabUserID: value(i.LabUserID), Username: i.Username, FullName: i.FullName,
		DoctorID: value(i.DoctorID), DocType: i.DocType,
		DepartmentDataType: i.DepartmentDataType, DepartmentIDs: i.DepartmentIDs,
		Permissions: i.Permissions, IsGlobalAdmin: i.IsGlobalAdmin,
	}
}

func value(p *int64) int64 {
	if p == nil {
		return 0
	}
	return *p
}

// numbered reports whether the identity has the id by which its type of login is authorized. An id of zero would match
// rows without an owner.
func (i identity) numbered() bool {
	switch i.SessionType {
	case Doctor:
		return value(i.DoctorID) > 0
	case LabUser:
		return value(i.LabUserID) > 0
	case Organization:
		return value(i.OrgID) > 0
	case CollectionCenter:
		return value(i.CCID) > 0
	}
	return true
}

// known reports whether authorization rules exist for this session type; others are refused.
func (t SessionType) known() bool {
	switch t {
	case LabUser, Doctor, Support, Organization, CollectionCenter:
		return true
	}
	return false
}
