package bill

import (
	"strings"
	"time"
)

// Bill is a bill without its tests.
type Bill struct {
	ID          int64
	LabBillID   int64 // the number that users of the laboratory see
	OrderNumber string
	Source      string
	PatientID   int64
	OrgID       int64     // 0: none
	BilledAt    time.Time // in UTC
	Amounts     Amounts
	State       State
	Version     int64 // number of times the amounts were written
}

// State holds the states of a bill. This service only reads them.
type State struct {
	Locked, Cancelled, Refunded, WrittenOff, Complete, Invoiced bool
}

// Blocks returns words for the states that keep the bill from being changed; none for an open bill.
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

// insurance is the source of the bills that can be split. Case is ignored.
const insurance = "Insurance"

// Payer identifies the payer of a bill.
type Payer struct {
	Source string `json:"source"`
	OrgID  int64  `json:"org_id"` // 0: none
}

// Payer returns the payer of the bill.
func (b Bill) Payer() Payer { return Payer{b.Source, b.OrgID} }

// Insured reports whether an insurance pays the bill.
func (b Bill) Insured() bool { return strings.EqualFold(strings.TrimSpace(b.Source), insurance) }

// Destination is the Source of a new bill, which names the kind of its payer.
type Destination string

// Destinations: the organization or the patient pays.
const (
	OrgPay  Destination = "Org Pay"
	SelfPay Destination = "Self Pay"
)

// Row is one billed test. Children of a profile have no price of their own.
type Row struct {
	ID         int64
	LabID      int64
	ProfileID  int64 // id of the profile's row; 0 if the test is in no profile
	Amount     Paise
	Concession Paise
	CoPay      Paise
	Deductible Paise
	// PatientPayable is the amount that the patient pays for the test; 0 if the core stores it for the whole bill only.
	PatientPayable Paise
	Dismissed      bool
	Refunded       bool
}

// IsChild reports whether the test belongs to a profile.
func (r Row) IsChild() bool { return r.ProfileID != 0 }

// Counts reports whether the row has a price of its own: it is neither a child nor dismissed.
func (r Row) Counts() bool { return !r.IsChild() && !r.Dismissed }

// net returns the test's price minus its own discount.
func (r Row) net() Paise { return r.Amount - r.Concession }
