package storetest

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/pkg/idempotency"
	"github.com/labplatform/labplatform/pkg/lab/activitylog"
	"github.com/labplatform/labplatform/services/billsplit/internal/bill"
	"github.com/labplatform/labplatform/services/billsplit/internal/family"
	"github.com/labplatform/labplatform/services/billsplit/internal/split"
	"github.com/labplatform/labplatform/services/billsplit/internal/store/memory"
)

// Run tests the stores that open makes, a fresh one for each test.
func Run(t *testing.T, open Open) {
	t.Helper()
	for name, test := range map[string]func(*testing.T, Open){
		"a bill is its laboratory's alone":             scopes,
		"every guarded table is seen":                  guarded,
		"attachments are seen and retired":             attachments,
		"an error changes nothing":                     rollback,
		"a key answers again":                          keys,
		"numbers have no gaps and are not given twice": numbers,
		"a new bill is like its original":              create,
		"tests move with their reports":                moves,
		"records come back as they were":               recordsBack,
		"a family has all generations":                 generations,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, open)
		})
	}
}

// in runs work in a transaction of laboratory 12.
func in(t *testing.T, s Store, work func(split.Locked) error) error {
	t.Helper()
	_, _, err := s.Once(t.Context(), Lab(t, 12), idempotency.Request{},
		func(l split.Locked) ([]byte, error) { return nil, work(l) })
	return err
}

// inMerge is in for the way back.
func inMerge(t *testing.T, s Store, work func(family.Locked) error) {
	t.Helper()
	_, _, err := s.OnceMerge(t.Context(), Lab(t, 12), idempotency.Request{},
		func(l family.Locked) ([]byte, error) { return nil, work(l) })
	must(t, err)
}

func scopes(t *testing.T, open Open) {
	state := Worked()
	state.SwitchedOff[13] = true
	s := open(t, state)
	read := func(lab int64, id int64) (b *bill.Bill, rows []bill.Row) {
		must(t, s.View(t.Context(), Lab(t, lab), func(f split.Facts) (err error) {
			if b, err = f.Bill(t.Context(), id); err != nil {
				return err
			}
			rows, err = f.Rows(t.Context(), id)
			return err
		}))
		return b, rows
	}
	if b, rows := read(12, Theirs); b != nil || len(rows) != 0 {
		t.Errorf("another laboratory's bill: %v %v", b, rows)
	}
	if b, rows := read(12, 1); b != nil || len(rows) != 0 {
		t.Errorf("no bill: %v %v", b, rows)
	}
	b, rows := read(12, Original)
	if diff := cmp.Diff(state.Bills[Original].Bill, *b); diff != "" {
		t.Error(diff)
	}
	if ids := bill.IDs(rows); !slices.Equal(ids, []int64{101, 102, 103, 104, 105}) {
		t.Errorf("rows %v", ids)
	}
	if diff := cmp.Diff(state.Tests[102].Row, rows[1]); diff != "" {
		t.Error(diff)
	}
	for lab, want := range map[int64]bool{12: true, 13: false} {
		must(t, s.View(t.Context(), Lab(t, lab), func(f split.Facts) error {
			if enabled, err := f.SplittingEnabled(t.Context()); err != nil || enabled != want {
				t.Errorf("laboratory %d: %v %v", lab, enabled, err)
			}
			return nil
		}))
	}
}

func guarded(t *testing.T, open Open) {
	state := Worked()
	for i, g := range bill.Guards() {
		state.Guards[g.Table] = []memory.GuardRow{{BillID: int64(50_000 + i)}}
		if g.PerRow {
			state.Guards[g.Table] = append(state.Guards[g.Table], memory.GuardRow{BillID: 1, TestID: 103})
		}
	}
	s := open(t, state)
	around := func(billID int64, tests ...int64) (a bill.Surroundings) {
		must(t, s.View(t.Context(), Lab(t, 12), func(f split.Facts) (err error) {
			a, err = f.Around(t.Context(), billID, tests)
			return err
		}))
		return a
	}
	for i, g := range bill.Guards() {
		if a := around(int64(50_000 + i)); !slices.Equal(a.Guarded, []string{g.Table}) {
			t.Errorf("%s: %v", g.Table, a.Guarded)
		}
	}
	if a := around(Original, 101, 102); len(a.Guarded) != 0 {
		t.Errorf("nothing of these: %v", a.Guarded)
	}
	if a := around(Original, 101, 103); !slices.Equal(a.Guarded,
		[]string{"finance_claim_test_relation", "integration_test_clinical_info"}) {
		t.Errorf("by test: %v", a.Guarded)
	}
}

func attachments(t *testing.T, open Open) {
	state := Worked()
	for i, category := range []string{"smart_report", "image", "document", "smart_report", "smart_report"} {
		state.Attachments[int64(i+1)] = memory.Attachment{BillID: Original, Category: category, Active: i != 3}
	}
	state.Attachments[9] = memory.Attachment{BillID: Theirs, Category: "smart_report", Active: true}
	s := open(t, state)
	var before bill.Surroundings
	var retired []int64
	must(t, in(t, s, func(l split.Locked) (err error) {
		if before, err = l.Around(t.Context(), Original, nil); err != nil {
			return err
		}
		retired, err = l.RetireSmartReports(t.Context(), Original)
		return err
	}))
	slices.Sort(before.Attachments)
	if !slices.Equal(before.Attachments, []string{"document", "image", "smart_report"}) ||
		!slices.Equal(retired, []int64{1, 5}) {
		t.Errorf("%v, retired %v", before.Attachments, retired)
	}
	if s.Dump().Attachments[1].Active || !s.Dump().Attachments[9].Active {
		t.Errorf("%v", s.Dump().Attachments)
	}
	inMerge(t, s, func(l family.Locked) error { return l.RestoreSmartReports(t.Context(), Original, retired) })
	if diff := cmp.Diff(state.Attachments, s.Dump().Attachments); diff != "" {
		t.Error(diff)
	}
}

var errBroken = errors.New("broken")

func rollback(t *testing.T, open Open) {
	s := open(t, Worked())
	err := in(t, s, func(l split.Locked) error {
		number, err := l.NextBillNumber(t.Context())
		must(t, err)
		id, err := l.Create(t.Context(), Original, split.Draft{LabBillID: number})
		must(t, err)
		must(t, l.Move(t.Context(), Original, id, []int64{101}))
		must(t, l.SetAmounts(t.Context(), Original, bill.Amounts{}))
		must(t, l.Record(t.Context(), split.Record{ParentID: Original, NewID: id, Moved: []int64{101}}))
		must(t, l.Log(t.Context(), activitylog.Entry{Category: activitylog.BillSplit, BillID: id}))
		return errBroken
	})
	if !errors.Is(err, errBroken) {
		t.Fatal(err)
	}
	if diff := cmp.Diff(Plain(Worked()), Plain(s.Dump())); diff != "" {
		t.Error(diff)
	}
}

func keys(t *testing.T, open Open) {
	s := open(t, Worked())
	worked := 0
	once := func(lab int64, key, body string, fail error) ([]byte, bool, error) {
		return s.Once(t.Context(), Lab(t, lab), idempotency.Request{Key: key, Operation: "o", Body: []byte(body)},
			func(split.Locked) ([]byte, error) {
				worked++
				return fmt.Append(nil, "answer ", worked), fail
			})
	}
	_, _, err := once(12, "k", "a", errBroken)
	if !errors.Is(err, errBroken) {
		t.Fatal(err)
	}
	for i, want := range []string{"answer 2", "answer 2"} {
		if got, replayed, err := once(12, "k", "a", nil); err != nil || string(got) != want || replayed != (i == 1) {
			t.Errorf("%s %v %v", got, replayed, err)
		}
	}
	if _, _, err := once(12, "k", "b", nil); !errors.Is(err, idempotency.ErrKeyReused) {
		t.Errorf("another request: %v", err)
	}
	if got, replayed, err := once(13, "k", "b", nil); err != nil || replayed || string(got) != "answer 3" {
		t.Errorf("another laboratory: %s %v %v", got, replayed, err)
	}
	if got, replayed, err := once(12, "", "a", nil); err != nil || replayed || string(got) != "answer 4" {
		t.Errorf("without a key: %s %v %v", got, replayed, err)
	}
}

func numbers(t *testing.T, open Open) {
	state := Worked()
	state.Counters[13] = 2000
	s := open(t, state)
	const takers = 8
	var all sync.WaitGroup
	got := make(chan int64, takers)
	lab := Lab(t, 12)
	for i := range takers {
		all.Go(func() {
			_, _, _ = s.Once(t.Context(), lab, idempotency.Request{}, func(l split.Locked) ([]byte, error) {
				number, err := l.NextBillNumber(t.Context())
				if err != nil || i%2 == 0 {
					return nil, errors.Join(err, errBroken) // gives the number back
				}
				_, err = l.Create(t.Context(), Original, split.Draft{LabBillID: number, Source: bill.OrgPay})
				if err == nil {
					got <- number
				}
				return nil, err
			})
		})
	}
	all.Wait()
	close(got)
	var list []int64
	for n := range got {
		list = append(list, n)
	}
	slices.Sort(list)
	if !slices.Equal(list, []int64{302, 303, 304, 305}) || s.Dump().Counters[12] != 305 {
		t.Errorf("numbers %v, counter %v", list, s.Dump().Counters)
	}
	_, _, err := s.Once(t.Context(), Lab(t, 13), idempotency.Request{}, func(l split.Locked) ([]byte, error) {
		if n, err := l.NextBillNumber(t.Context()); err != nil || n != 2001 {
			t.Errorf("a counter that is ahead: %d %v", n, err)
		}
		return nil, nil
	})
	must(t, err)
}

func create(t *testing.T, open Open) {
	state := Worked()
	original := state.Bills[Original]
	original.State.Invoiced = true
	state.Bills[Original] = original
	s := open(t, state)
	var id int64
	amounts := bill.Amounts{VAT: 1, VATPercent: 2, TDS: 3, Advance: 4, CoPay: 5, Concession: 6, Total: -7,
		Deductible: 8, Additional: 9, PatientPayable: 10}
	must(t, in(t, s, func(l split.Locked) (err error) {
		if orders, err := l.OrderNumbers(t.Context(), "ORD-1~"); err != nil || len(orders) != 0 {
			t.Errorf("another laboratory's order numbers: %v %v", orders, err)
		}
		id, err = l.Create(t.Context(), Original, split.Draft{LabBillID: 400, OrderNumber: "ORD-1~1", Source: bill.SelfPay,
			Amounts: amounts})
		if err != nil {
			return err
		}
		orders, err := l.OrderNumbers(t.Context(), "ORD-1~")
		if !slices.Equal(orders, []string{"ORD-1~1"}) {
			t.Errorf("order numbers %v", orders)
		}
		return err
	}))
	want := memory.Bill{LabID: 12, Bill: bill.Bill{ID: id, LabBillID: 400, OrderNumber: "ORD-1~1", Source: "Self Pay",
		PatientID: Patient, Amounts: amounts}}
	if diff := cmp.Diff(want, s.Dump().Bills[id]); diff != "" {
		t.Error(diff)
	}
}

func moves(t *testing.T, open Open) {
	s := open(t, Worked())
	if err := in(t, s, func(l split.Locked) error {
		return l.Move(t.Context(), Original, Theirs, []int64{101, 201})
	}); err == nil {
		t.Error("a test that is on another bill moved")
	}
	must(t, in(t, s, func(l split.Locked) error { return l.Move(t.Context(), Original, 5, []int64{103, 104}) }))
	after := s.Dump()
	for id, want := range map[int64]int64{101: Original, 103: 5, 104: 5, 105: Original} {
		if after.Tests[id].BillID != want || after.Reports[id+7000].BillID != want {
			t.Errorf("test %d: %+v %+v", id, after.Tests[id], after.Reports[id+7000])
		}
	}
}

func recordsBack(t *testing.T, open Open) {
	s := open(t, Worked())
	r := split.Record{
		ParentID: Original, NewID: Original + 500, Moved: []int64{101, 102}, SmartReports: []int64{7}, ParentVersion: 3,
		Rows: []bill.Row{
			{ID: 101, LabID: 12, Amount: 1, Concession: -2, CoPay: 3, Deductible: 4, Refunded: true},
			{ID: 102, LabID: 13, ProfileID: 101, Dismissed: true},
		},
		By: authn.Actor{Kind: authn.ActorSupport, ID: 77}, At: 1_790_000_000_123,
		Before:      bill.Amounts{VAT: 5167, VATPercent: 180_000, Total: 99_999_999_999_999, Additional: -33},
		AfterParent: bill.Amounts{TDS: 5, Advance: 6, CoPay: 7}, AfterNew: bill.Amounts{Concession: 1, Deductible: 10,
			PatientPayable: 100},
	}
	id := int64(0)
	must(t, in(t, s, func(l split.Locked) (err error) {
		id, err = l.Create(t.Context(), Original, split.Draft{LabBillID: 400})
		must(t, err)
		r.NewID = id
		return l.Record(t.Context(), r)
	}))
	inMerge(t, s, func(l family.Locked) error {
		if got, err := l.Split(t.Context(), Original); got != nil || err != nil {
			t.Errorf("a bill that no split made: %v %v", got, err)
		}
		got, err := l.Split(t.Context(), id)
		must(t, err)
		if diff := cmp.Diff(family.Record{Record: r}, *got); diff != "" {
			t.Error(diff)
		}
		splits, err := l.SplitsOf(t.Context(), Original)
		if diff := cmp.Diff([]family.Record{{Record: r}}, splits); err != nil || diff != "" {
			t.Errorf("the splits of the original: %v %s", err, diff)
		}
		must(t, l.Cancel(t.Context(), id))
		return l.Undone(t.Context(), id, Asha, 55)
	})
	inMerge(t, s, func(l family.Locked) error {
		if got, err := l.Split(t.Context(), id); err != nil || got.MergedAt != 55 {
			t.Errorf("%+v %v", got, err)
		}
		return nil
	})
	if !s.Dump().Bills[id].State.Cancelled {
		t.Error("not cancelled")
	}
}

func generations(t *testing.T, open Open) {
	begin := Worked()
	named := begin.Tests[101]
	named.Name = "Lipid profile"
	begin.Tests[101] = named
	s := open(t, begin)
	var child, grandchild int64
	must(t, in(t, s, func(l split.Locked) (err error) {
		child, err = l.Create(t.Context(), Original, split.Draft{LabBillID: 400})
		must(t, err)
		grandchild, err = l.Create(t.Context(), Original, split.Draft{LabBillID: 401})
		must(t, err)
		must(t, l.Move(t.Context(), Original, child, []int64{101}))
		must(t, l.Record(t.Context(), split.Record{ParentID: Original, NewID: child, Moved: []int64{101}}))
		return l.Record(t.Context(), split.Record{ParentID: child, NewID: grandchild, Moved: []int64{}})
	}))
	for _, id := range []int64{Original, child, grandchild} {
		members, err := s.Family(t.Context(), Lab(t, 12), id)
		must(t, err)
		if len(members) != 3 || members[0].Origin != nil || members[0].Bill.ID != Original ||
			members[1].Origin.ParentID != Original ||
			members[2].Origin.ParentID != child || len(members[0].Tests) != 4 || members[0].Tests[0].Name != "" {
			t.Errorf("from %d: %+v", id, members)
		}
		if diff := cmp.Diff([]family.Test{{Row: named.Row, Name: named.Name}}, members[1].Tests); diff != "" {
			t.Error(diff)
		}
	}
	if members, err := s.Family(t.Context(), Lab(t, 13), child); err != nil || len(members) != 0 {
		t.Errorf("another laboratory: %v %v", members, err)
	}
}
