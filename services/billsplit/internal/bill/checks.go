package bill

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Documented types of failures, in the order in which they are reported.
const (
	NotFound               = "BILL_NOT_FOUND"
	InvalidSource          = "INVALID_BILL_SOURCE"
	InvalidState           = "INVALID_BILL_STATE"
	Linked                 = "BILL_IS_ABDM_LINKED"
	TestsNotFound          = "TO_SPLIT_TESTS_NOT_FOUND"
	TestsNotFromSameLab    = "TO_SPLIT_TESTS_NOT_FROM_SAME_LAB"
	TestsDismissed         = "TO_SPLIT_TESTS_DISMISSED_OR_REFUNDED"
	InvalidTest            = "INVALID_TO_SPLIT_TEST"
	AdvanceNotAllowed      = "BILL_ADVANCE_NOT_ALLOWED"
	ZeroTestsLeft          = "ZERO_TEST_COUNT_AFTER_SPLIT"
	UnsupportedAttachments = "UNSUPPORTED_ATTACHMENTS_FOUND"
	RelationBlocked        = "RELATION_BLOCKED"
)

// Types of warnings. None of them stops a split.
const (
	AmountsDisagree   = "BILL_AMOUNTS_DISAGREE"
	AmountLimited     = "MOVED_AMOUNT_LIMITED"
	PatientPartMoved  = "PATIENT_PART_MOVED"
	CreditMoved       = "CREDIT_LINE_MOVED"
	OnlyRefundedLeft  = "ONLY_REFUNDED_TESTS_LEFT"
	ReportsStay       = "REPORTS_WITHOUT_TEST_STAY"
	SignedReportsMove = "SIGNED_REPORTS_MOVE"
)

// FailureTypes returns the types of failures in their order.
func FailureTypes() []string {
	return []string{NotFound, InvalidSource, InvalidState, Linked,
		TestsNotFound, TestsNotFromSameLab, TestsDismissed, InvalidTest,
		AdvanceNotAllowed, ZeroTestsLeft, UnsupportedAttachments, RelationBlocked}
}

// Failure is a failed check or a warning.
type Failure struct {
	Type    string
	Message string
	Label   string // for a guarded table: meaning of its rows, and the next step for the user
	// Blocking is set in a warning if the check would stop an execution.
	Blocking bool
}

// BillNotFound is the only failure reported if the laboratory does not have the bill.
var BillNotFound = Failure{Type: NotFound, Message: "There is no such bill in this laboratory"}

// Surroundings holds other data of the platform about a bill.
type Surroundings struct {
	Guarded     []string // guarded tables with rows about the bill or the moved tests
	Attachments []string // categories of active attachments
	Reports     []Report // reports of the bill, without dismissed ones
}

// Report is a report on a bill.
type Report struct {
	ID, TestID int64 // TestID is the billed test; 0 if there is none
	Signed     bool
}

// CheckBill returns the failed checks of the bill itself.
func CheckBill(b Bill, around Surroundings) []Failure {
	var f []Failure
	if !b.Insured() {
		f = append(f, Failure{Type: InvalidSource, Message: "Only insurance bills can be split"})
	}
	if words := b.State.Blocks(); len(words) > 0 {
		f = append(f, Failure{Type: InvalidState, Message: "The bill is " + strings.Join(words, ", ") +
			" and cannot be split"})
	}
	if slices.Contains(around.Guarded, LinkTable) {
		f = append(f, Failure{Type: Linked, Message: "The bill is linked to a health record (ABDM) and cannot be split"})
	}
	return f
}

// CheckTests returns the failed checks of the chosen tests and their children for a laboratory. A dismissed child may
// move with its profile, because it costs nothing. A refunded one may not, because its refund belongs to the old bill.
func CheckTests(s Selection, labID int64) []Failure {
	var foreign, gone []int64
	for _, row := range slices.Concat(s.Asked, s.Children) {
		if row.LabID != labID {
			foreign = append(foreign, row.ID)
		}
	}
	for _, row := range s.Asked {
		if row.Dismissed || row.Refunded {
			gone = append(gone, row.ID)
		}
	}
	for _, row := range s.Children {
		if row.Refunded {
			gone = append(gone, row.ID)
		}
	}
	return failuresOf([]listed{
		{TestsNotFound, "These tests are not on the bill: %s", s.Missing},
		{TestsNotFromSameLab, "These tests belong to another laboratory: %s", foreign},
		{TestsDismissed, "These tests are dismissed or refunded: %s", gone},
		{InvalidTest, "These tests belong to a profile and move only with it; choose the profile instead: %s", s.Alone},
	})
}

// CheckExecution returns the failed checks that stop only an execution: first those of amounts, tests and attachments,
// then the guarded tables.
func CheckExecution(b Bill, s Selection, around Surroundings) []Failure {
	var f []Failure
	if b.Amounts.Advance != 0 {
		f = append(f, Failure{Type: AdvanceNotAllowed, Message: "The bill has an advance; refund or move the advance before" +
			" splitting"})
	}
	if len(s.Moved) > 0 && s.Stays == 0 {
		f = append(f, Failure{Type: ZeroTestsLeft, Message: "At least one test must stay on the bill; choose fewer tests"})
	}
	inTheWay := func(category string) bool { return !freeAttachments[strings.ToLower(category)] }
	if slices.ContainsFunc(around.Attachments, inTheWay) {
		f = append(f, Failure{Type: UnsupportedAttachments, Message: "The bill has attachments that cannot be divided; " +
			"only smart reports and images may be active"})
	}
	for _, g := range guards {
		if slices.Contains(around.Guarded, g.Table) {
			f = append(f, Failure{Type: RelationBlocked, Message: g.Table, Label: g.Label})
		}
	}
	return f
}

// Notes returns warnings about the tests and reports of a bill to be split.
func Notes(rows []Row, s Selection, reports []Report) []Failure {
	moved := make(map[int64]bool, len(s.Moved))
	var credits, stay, signed []int64
	for _, row := range s.Moved {
		moved[row.ID] = true
		if row.Counts() && row.net() < 0 {
			credits = append(credits, row.ID)
		}
	}
	for _, r := range reports {
		switch {
		case r.TestID == 0:
			stay = append(stay, r.ID)
		case r.Signed && moved[r.TestID]:
			signed = append(signed, r.ID)
		}
	}
	var f []Failure
	if s.Stays > 0 && !slices.ContainsFunc(rows, func(r Row) bool { return r.Counts() && !r.Refunded && !moved[r.ID] }) {
		f = append(f, Failure{Type: OnlyRefundedLeft, Message: "Only refunded tests stay on this bill"})
	}
	return append(f, failuresOf([]listed{
		{CreditMoved, "These tests are credits, and a bill of less than nothing is not made: %s", credits},
		{ReportsStay, "These reports name no billed test, so they stay on this bill: %s", stay},
		{SignedReportsMove, "These reports are signed, and their printed form names the number of this bill: %s", signed},
	})...)
}

// listed is a possible failure and the ids that it is about. failuresOf omits it if there are none.
type listed struct {
	kind, message string
	ids           []int64
}

func failuresOf(list []listed) []Failure {
	var f []Failure
	for _, c := range list {
		if len(c.ids) > 0 {
			f = append(f, Failure{Type: c.kind, Message: fmt.Sprintf(c.message, List(c.ids))})
		}
	}
	return f
}

// maxListed is the maximum number of ids in a message, because a request may name thousands of tests.
const maxListed = 20

// List formats the ids of tests for a message.
func List(ids []int64) string {
	texts := make([]string, 0, maxListed)
	for _, id := range ids[:min(len(ids), maxListed)] {
		texts = append(texts, strconv.FormatInt(id, 10))
	}
	text := strings.Join(texts, ", ")
	if more := len(ids) - maxListed; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}
