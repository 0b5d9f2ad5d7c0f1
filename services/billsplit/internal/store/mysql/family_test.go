package mysql_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/pkg/idempotency"
	"github.com/labplatform/labplatform/services/billsplit/internal/bill"
	"github.com/labplatform/labplatform/services/billsplit/internal/family"
	"github.com/labplatform/labplatform/services/billsplit/internal/split"
	"github.com/labplatform/labplatform/services/billsplit/internal/store/storetest"
)

// merge undoes the split that created a bill. look gets the facts first.
func (f fixture) merge(lab, newID int64, look func(family.Facts) error) error {
	f.Helper()
	r := family.Request{Lab: storetest.Lab(f.T, lab), BillID: newID}
	_, _, err := f.Merge(f.Context(), r, idempotency.Request{}, func(facts family.Facts) (family.Decision, error) {
		if look != nil {
			if err := look(facts); err != nil {
				return family.Decision{}, err
			}
		}
		return family.Decision{Record: *facts.Record, By: storetest.Asha, At: 55, Restored: facts.Record.SmartReports}, nil
	})
	return err
}

func (f fixture) mustMerge(newID int64, look func(family.Facts)) {
	f.Helper()
	err := f.merge(12, newID, func(facts family.Facts) error {
		if look != nil {
			look(facts)
		}
		return nil
	})
	if err != nil {
		f.Fatal(err)
	}
}

func TestARecordComesBackAsItWas(t *testing.T) {
	t.Parallel()
	f := open(t, storetest.Worked())
	d := moving(400, 101, 102)
	d.Record = split.Record{
		ParentID: original, Moved: []int64{101, 102}, SmartReports: []int64{7}, ParentVersion: 3,
		Rows: []bill.Row{
			{ID: 101, LabID: 12, Amount: 1, Concession: -2, CoPay: 3, Deductible: 4, PatientPayable: 5, Refunded: true},
			{ID: 102, LabID: 13, ProfileID: 101, Dismissed: true},
		},
		By: authn.Actor{Kind: authn.ActorSupport, ID: 77}, At: 1_790_000_000_123,
		BilledAt: 1_780_000_000_123, NewPayer: bill.Payer{Source: "Self Pay", OrgID: 45},
		Before:      bill.Amounts{VAT: 5167, VATPercent: 180_000, Total: 99_999_999_999_999, Additional: -33},
		AfterParent: bill.Amounts{TDS: 5, Advance: 6, CoPay: 7}, AfterNew: bill.Amounts{Concession: 1, Deductible: 10, PatientPayable: 100},
	}
	if err := f.split(func(split.Facts) (split.Decision, error) { return d, nil }); err != nil {
		t.Fatal(err)
	}
	id := f.Dump().Splits[0].NewID
	want := family.Record{Record: d.RecordOf(id)}
	f.mustMerge(id, func(facts family.Facts) {
		if diff := cmp.Diff(want, *facts.Record); diff != "" {
			t.Errorf("the record (-want +got): %s", diff)
		}
		if diff := cmp.Diff([]family.Record{want}, facts.OfParent); diff != "" || len(facts.OfNew) != 0 {
			t.Errorf("the splits of the original: %s, of the new bill: %v", diff, facts.OfNew)
		}
		if facts.New.ID != id || facts.Parent.ID != original || len(facts.Rows) != 2 {
			t.Errorf("bills %+v and %+v with %d tests, want %d and %d with two", facts.New, facts.Parent, len(facts.Rows), id, original)
		}
	})
	err := f.merge(12, id, func(facts family.Facts) error {
		if facts.Record.MergedAt != 55 || !facts.New.State.Cancelled {
			t.Errorf("merged at %d, new bill %+v; want 55 and cancelled", facts.Record.MergedAt, facts.New.State)
		}
		return errBroken
	})
	if err == nil {
		t.Error("the decision's error is lost")
	}
}

func TestABillThatNoSplitMadeHasNoRecord(t *testing.T) {
	t.Parallel()
	f := open(t, storetest.Worked())
	f.mustMove(400, 101)
	newID := f.Dump().Splits[0].NewID
	for name, c := range map[string]struct {
		lab, id int64
		bill    bool
	}{
		"the original":               {12, original, true},
		"another laboratory's bill":  {12, theirs, false},
		"an unknown bill":            {12, 1, false},
		"a new bill, by another one": {13, newID, false},
	} {
		err := f.merge(c.lab, c.id, func(facts family.Facts) error {
			if facts.Record != nil || facts.Parent != nil || (facts.New != nil) != c.bill {
				t.Errorf("%s: %+v, want a bill: %v, and no record", name, facts, c.bill)
			}
			return errBroken
		})
		if err == nil {
			t.Errorf("%s: the decision's error is lost", name)
		}
	}
}

func TestAFamilyHasAllGenerations(t *testing.T) {
	t.Parallel()
	begin := storetest.Worked()
	named := begin.Tests[101]
	named.Name = "Lipid profile"
	begin.Tests[101] = named
	f := open(t, begin)
	f.mustMove(400, 101)
	child := f.Dump().Splits[0].NewID
	d := moving(401)
	d.Record.ParentID = child
	if err := f.split(func(split.Facts) (split.Decision, error) { return d, nil }); err != nil {
		t.Fatal(err)
	}
	grandchild := f.Dump().Splits[1].NewID
	for _, id := range []int64{original, child, grandchild} {
		members, err := f.Family(t.Context(), storetest.Lab(t, 12), id)
		if err != nil || len(members) != 3 {
			t.Fatalf("from %d: %+v, %v; want three members", id, members, err)
		}
		if members[0].Bill.ID != original || members[0].Origin != nil || members[1].Origin.ParentID != original ||
			members[2].Origin.ParentID != child || len(members[0].Tests) != 4 || members[0].Tests[0].Name != "" {
			t.Errorf("from %d: %+v, want the original, its child and its grandchild", id, members)
		}
		if diff := cmp.Diff([]family.Test{{Row: named.Row, Name: named.Name}}, members[1].Tests); diff != "" {
			t.Errorf("the child's tests (-want +got): %s", diff)
		}
	}
	if members, err := f.Family(t.Context(), storetest.Lab(t, 13), child); err != nil || len(members) != 0 {
		t.Errorf("another laboratory: %v, %v; want no members", members, err)
	}
}
