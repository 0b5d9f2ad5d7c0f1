package bill

import (
	"strings"
	"time"
)

// Bill is the head of a bill.
type Bill struct {
	ID          int64
	LabBillID   int64 // the number that the laboratory's people see
	OrderNumber string
	Source      string
	PatientID   int64
	OrgID       int64     // 0: none
	BilledAt    time.Time // UTC
	Amounts     Amounts
	State       State
	Version     int64 // how often the amounts were written
}

// State is what has been done with a bill. This service only reads it.
type State struct {
	Locked, Cancelled, Refunded, WrittenOff, Complete, Invoiced bool
}

// Blocks returns the words for what keeps the bill from being changed, none for an open bill.
func (s State) Blocks() []string {
	var words []string
	for _, flag := range []struct {
		set  bool
		word string
	}{
		{s.Locked, "locked"},
		{s.Cancelled, "cancelled"},
		{s.Refunded, "refunded"},
		{s.WrittenOff, "written off"},
		{s.Complete, "complete"},
		{s.Invoiced, "invoiced"},
	} {
		if flag.set {
			words = append(words, flag.word)
		}
	}
	return words
}

// insurance is the source of the bills that can be split, in any case of letters.
const insurance = "Insurance"

// Payer is who pays for a bill.
type Payer struct {
	Source string `json:"source"`
	OrgID  int64  `json:"org_id"` // 0: none
}

// Payer returns who pays for the bill.
func (b Bill) Payer() Payer { return Payer{b.Source, b.OrgID} }

// Insured reports whether an insurance pays for the bill.
func (b Bill) Insured() bool { return strings.EqualFold(strings.TrimSpace(b.Source), insurance) }

// Destination is the source of a new bill.
type Destination string

// The destinations.
const (
	OrgPay  Destination = "Org Pay"
	SelfPay Destination = "Self Pay"
)

// Row is one billed test. Children of a profile carry no money of their own.
type Row struct {
	ID         int64
	LabID      int64
	ProfileID  int64 // the profile's row; 0 when it belongs to none
	Amount     Paise
	Concession Paise
	CoPay      Paise
	Deductible Paise
	// PatientPayable is what the patient pays of the test; 0 where the core states it for the bill alone.
	PatientPayable Paise
	Dismissed      bool
	Refunded       bool
}

// IsChild reports whether the row belongs to a profile.
func (r Row) IsChild() bool { return r.ProfileID != 0 }

// Counts reports whether the row is a test that someone pays for.
func (r Row) Counts() bool { return !r.IsChild() && !r.Dismissed }

// net is the test's price less its own discount.
func (r Row) net() Paise { return r.Amount - r.Concession }
