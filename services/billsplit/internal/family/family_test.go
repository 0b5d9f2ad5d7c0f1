package family_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/labplatform/labplatform/pkg/apperr"
	"github.com/labplatform/labplatform/pkg/clock"
	"github.com/labplatform/labplatform/services/billsplit/internal/bill"
	"github.com/labplatform/labplatform/services/billsplit/internal/family"
	"github.com/labplatform/labplatform/services/billsplit/internal/store/memory"
	"github.com/labplatform/labplatform/services/billsplit/internal/store/storetest"
)

const original = storetest.Original

var backends = storetest.Backends()

func worked() memory.State {
	s := storetest.Worked()
	s.Attachments[1] = memory.Attachment{BillID: original, Category: "smart_report", Active: true}
	return s
}

func TestAFamilyAddsUp(t *testing.T) {
	t.Parallel()
	for name, open := range backends {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := open(t, worked())
			cases := storetest.NewCases(t, b)
			for _, id := range []int64{103, 102} {
				if _, err := cases.Split(t.Context(), "", id); err != nil {
					t.Fatal(err)
				}
			}
			viewer := family.NewViewer(b, clock.System{}, cases.Counts)
			f, err := viewer.View(t.Context(), storetest.Lab(t, 12), original)
			if err != nil || len(f.Members) != 3 {
				t.Fatalf("%+v %v", f, err)
			}
			want := worked().Bills[original].Amounts
			want.CoPay, want.PatientPayable = 4000, 4000 // the moved tests' co-pay is no one's any more
			if diff := cmp.Diff(want, f.Sum); diff != "" {
				t.Error(diff)
			}
			if _, err := viewer.View(t.Context(), storetest.Lab(t, 13), original); !errors.Is(err, family.ErrNoBill) {
				t.Errorf("another laboratory: %v", err)
			}
		})
	}
}

// unversioned is a bill but for how often it was written.
func unversioned(b memory.Bill) memory.Bill {
	b.Version = 0
	return b
}

// expectBack looks at the state after a split was undone, as far as the original bill goes.
func expectBack(t *testing.T, want, got memory.State, newID int64) {
	t.Helper()
	if diff := cmp.Diff(unversioned(want.Bills[original]), unversioned(got.Bills[original])); diff != "" {
		t.Errorf("the original: %s", diff)
	}
	if made := got.Bills[newID]; made.Amounts != (bill.Amounts{}) || !made.State.Cancelled {
		t.Errorf("the new bill: %+v", made)
	}
	if diff := cmp.Diff([]any{want.Tests, want.Reports, want.Attachments}, []any{got.Tests, got.Reports, got.Attachments}); diff != "" {
		t.Errorf("around it: %s", diff)
	}
}

// TestADeathLeavesTheBillsSplitOrMerged kills the process before every step of the way back.
func TestADeathLeavesTheBillsSplitOrMerged(t *testing.T) {
	t.Parallel()
	for name, open := range backends {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			open = open.Again(t)
			for n := 1; ; n++ {
				b := open(t, worked())
				cases := storetest.NewCases(t, b)
				r, err := cases.Split(t.Context(), "", 103)
				if err != nil {
					t.Fatal(err)
				}
				before := storetest.Plain(b.Dump())
				dying := &storetest.Crashing{Store: b.Store, DieBefore: n}
				_, err = storetest.NewCases(t, dying).Back(t.Context(), "key", r.New.ID)
				if dying.Died == "" {
					if err != nil || n < 15 {
						t.Fatalf("after %d steps: %v", n-1, err)
					}
					return
				}
				committed := dying.Died == "answer"
				if diff := cmp.Diff(before, storetest.Plain(b.Dump())); committed == (diff == "") {
					t.Fatalf("dead before %q: %s", dying.Died, diff)
				}
				if _, err := cases.Back(t.Context(), "key", r.New.ID); err != nil {
					t.Fatalf("dead before %q, again: %v", dying.Died, err)
				}
				expectBack(t, worked(), b.Dump(), r.New.ID)
			}
		})
	}
}

func TestChangedBillsAreNotMerged(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		reason string
		change func(s *memory.State, newID int64)
	}{
		"the new bill's amounts": {"BILL_CHANGED", func(s *memory.State, id int64) { b := s.Bills[id]; b.Amounts.Advance = 1; s.Bills[id] = b }},
		"the original's amounts": {"BILL_CHANGED", func(s *memory.State, _ int64) { b := s.Bills[original]; b.Amounts.VAT++; s.Bills[original] = b }},
		"the original's source":  {"BILL_CHANGED", func(s *memory.State, _ int64) { b := s.Bills[original]; b.Source = "Self Pay"; s.Bills[original] = b }},
		"a test was added": {"BILL_CHANGED", func(s *memory.State, id int64) {
			s.Tests[999] = memory.Test{BillID: id, Row: bill.Row{ID: 999, LabID: 12}}
		}},
		"a moved test was refunded":                 {"BILL_CHANGED", func(s *memory.State, _ int64) { r := s.Tests[103]; r.Refunded = true; s.Tests[103] = r }},
		"a moved test costs less":                   {"BILL_CHANGED", func(s *memory.State, _ int64) { r := s.Tests[103]; r.Amount -= 10000; s.Tests[103] = r }},
		"a moved child was dismissed":               {"BILL_CHANGED", func(s *memory.State, _ int64) { r := s.Tests[104]; r.Dismissed = true; s.Tests[104] = r }},
		"the original was written and written back": {"BILL_CHANGED", func(s *memory.State, _ int64) { b := s.Bills[original]; b.Version += 2; s.Bills[original] = b }},
		"the new bill was written and written back": {"BILL_CHANGED", func(s *memory.State, id int64) { b := s.Bills[id]; b.Version += 2; s.Bills[id] = b }},
		"a test went away":                          {"BILL_CHANGED", func(s *memory.State, _ int64) { delete(s.Tests, 104) }},
		"an attachment": {"BILL_CHANGED", func(s *memory.State, id int64) {
			s.Attachments[9] = memory.Attachment{BillID: id, Category: "image", Active: true}
		}},
		"the new bill is locked":   {bill.InvalidState, func(s *memory.State, id int64) { b := s.Bills[id]; b.State.Locked = true; s.Bills[id] = b }},
		"the original is invoiced": {bill.InvalidState, func(s *memory.State, _ int64) { b := s.Bills[original]; b.State.Invoiced = true; s.Bills[original] = b }},
		"a payment of the new bill": {bill.RelationBlocked, func(s *memory.State, id int64) {
			s.Guards["payments_payment_gateway_transactions"] = []memory.GuardRow{{BillID: id}}
		}},
		"a claim for the original": {bill.RelationBlocked, func(s *memory.State, _ int64) {
			s.Guards["finance_insurance_claim"] = []memory.GuardRow{{BillID: original}}
		}},
		"a bill that no split made":   {"BILL_NOT_SPLIT", func(s *memory.State, _ int64) { s.Splits = nil }},
		"a bill that is not there":    {bill.NotFound, func(s *memory.State, id int64) { s.Splits = nil; delete(s.Bills, id) }},
		"it was merged back before":   {"BILL_ALREADY_MERGED", func(s *memory.State, _ int64) { s.Splits[0].MergedAt = 5 }},
		"another laboratory's by now": {bill.NotFound, func(s *memory.State, id int64) { b := s.Bills[id]; b.LabID = 13; s.Bills[id] = b }},
	}
	for name, c := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			first := storetest.Memory(t, worked())
			r, err := storetest.NewCases(t, first).Split(t.Context(), "", 103)
			if err != nil {
				t.Fatal(err)
			}
			state := first.Dump()
			c.change(&state, r.New.ID)
			b := storetest.Memory(t, state)
			_, err = storetest.NewCases(t, b).Back(t.Context(), "", r.New.ID)
			if e, ok := apperr.From(err); !ok || e.Reason != c.reason {
				t.Errorf("%v, want %s", err, c.reason)
			}
			if diff := cmp.Diff(state, b.Dump()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestARefusedMergeNamesWhatChanged has a moved test that was refunded at a lower price since the split, while the bill's own
// amounts stayed.
func TestARefusedMergeNamesWhatChanged(t *testing.T) {
	t.Parallel()
	for name, open := range backends {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := open(t, worked())
			cases := storetest.NewCases(t, b)
			r, err := cases.Split(t.Context(), "", 103)
			if err != nil {
				t.Fatal(err)
			}
			state := b.Dump()
			b.ChangeTest(103, func(row *bill.Row) { row.Refunded, row.Amount = true, row.Amount-10000 })
			_, err = cases.Back(t.Context(), "", r.New.ID)
			if e, ok := apperr.From(err); !ok || e.Reason != "BILL_CHANGED" || !strings.Contains(e.Message, "these tests: 103,") {
				t.Fatalf("%v", err)
			}
			b.ChangeTest(103, func(row *bill.Row) { row.Refunded, row.Amount = false, row.Amount+10000 })
			if diff := cmp.Diff(state, b.Dump()); diff != "" {
				t.Error(diff)
			}
			if _, err := cases.Back(t.Context(), "", r.New.ID); err != nil {
				t.Errorf("as it was again: %v", err)
			}
		})
	}
}

// TestASplitOfNothingHasItsPlaceInTheOrder splits a test that costs something, then one that costs nothing: the bill's amounts
// do not tell the second split, its record does.
func TestASplitOfNothingHasItsPlaceInTheOrder(t *testing.T) {
	t.Parallel()
	for name, open := range backends {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			start := worked()
			start.Tests[106] = memory.Test{BillID: original, Row: bill.Row{ID: 106, LabID: 12}}
			b := open(t, start)
			cases := storetest.NewCases(t, b)
			first, err := cases.Split(t.Context(), "", 103)
			if err != nil {
				t.Fatal(err)
			}
			second, err := cases.Split(t.Context(), "", 106)
			if err != nil {
				t.Fatal(err)
			}
			_, err = cases.Back(t.Context(), "", first.New.ID)
			later := fmt.Sprintf("merge bill %d (its id)", second.New.ID)
			if e, ok := apperr.From(err); !ok || e.Reason != "LATER_SPLIT" || !strings.Contains(e.Message, later) {
				t.Errorf("the first of two: %v", err)
			}
			for _, id := range []int64{second.New.ID, first.New.ID} {
				if _, err := cases.Back(t.Context(), "", id); err != nil {
					t.Errorf("bill %d: %v", id, err)
				}
			}
			expectBack(t, start, b.Dump(), first.New.ID)
		})
	}
}

func TestTheLastSplitIsUndoneFirst(t *testing.T) {
	t.Parallel()
	b := storetest.Memory(t, worked())
	cases := storetest.NewCases(t, b)
	first, err := cases.Split(t.Context(), "", 103)
	if err != nil {
		t.Fatal(err)
	}
	second, err := cases.Split(t.Context(), "", 102)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := cases.Back(t.Context(), "", first.New.ID); !apperr.Is(err, apperr.Conflict) {
		t.Errorf("the first: %v", err)
	}
	for _, id := range []int64{second.New.ID, first.New.ID} {
		if _, err := cases.Back(t.Context(), "", id); err != nil {
			t.Errorf("bill %d: %v", id, err)
		}
	}
	expectBack(t, worked(), b.Dump(), first.New.ID)
	if third, err := cases.Split(t.Context(), "", 103); err != nil || b.Dump().Bills[third.New.ID].OrderNumber != "ORD-1~3" {
		t.Errorf("a cancelled bill's order number is given again: %v %v", b.Dump().Bills[third.New.ID], err)
	}
	if cases.Merges.Load() != 2 || cases.Changes.Load() != 5 {
		t.Errorf("%+v", cases.Counts)
	}
}
