package storetest

import (
	"maps"
	"slices"

	"github.com/labplatform/labplatform/pkg/lab/activitylog"
	"github.com/labplatform/labplatform/services/billsplit/internal/bill"
	"github.com/labplatform/labplatform/services/billsplit/internal/family"
)

// State is the content of a database of bills, as tests write and compare it.
type State struct {
	Bills       map[int64]Bill
	Tests       map[int64]Test   // by row id
	Reports     map[int64]Report // by report id
	Attachments map[int64]Attachment
	Guards      map[string][]GuardRow // by table
	Counters    map[int64]int64       // by laboratory
	SwitchedOff map[int64]bool        // laboratories whose own switch is off
	Splits      []family.Record
	Log         []activitylog.Entry
}

// Bill is a bill with its laboratory.
type Bill struct {
	bill.Bill

	LabID int64
}

// Test is a billed test with its bill.
type Test struct {
	bill.Row

	BillID int64
	Name   string // name of the test in the laboratory's list
}

// Report is a report about a billed test.
type Report struct{ LabID, BillID, TestID int64 }

// Attachment is a file of a bill.
type Attachment struct {
	BillID   int64
	Category string
	Active   bool
}

// GuardRow is a row of a guarded table. A TestID of 0 names no test.
type GuardRow struct{ BillID, TestID int64 }

// NewState returns an empty state.
func NewState() State {
	return State{
		Bills: map[int64]Bill{}, Tests: map[int64]Test{}, Reports: map[int64]Report{}, Attachments: map[int64]Attachment{},
		Guards: map[string][]GuardRow{}, Counters: map[int64]int64{}, SwitchedOff: map[int64]bool{},
	}
}

// Clone returns a deep copy.
func (s State) Clone() State {
	s.Bills, s.Tests, s.Reports = maps.Clone(s.Bills), maps.Clone(s.Tests), maps.Clone(s.Reports)
	s.Attachments, s.Guards = maps.Clone(s.Attachments), maps.Clone(s.Guards)
	s.Counters, s.SwitchedOff = maps.Clone(s.Counters), maps.Clone(s.SwitchedOff)
	s.Splits, s.Log = slices.Clone(s.Splits), slices.Clone(s.Log)
	return s
}
