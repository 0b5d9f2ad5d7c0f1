package family_test

import (
	"testing"
	"time"

	"github.com/labplatform/labplatform/pkg/apperr"
	"github.com/labplatform/labplatform/services/billsplit/internal/bill"
	"github.com/labplatform/labplatform/services/billsplit/internal/family"
	"github.com/labplatform/labplatform/services/billsplit/internal/split"
	"github.com/labplatform/labplatform/services/billsplit/internal/store/storetest"
)

const newBill = int64(9100)

// halves returns the facts of bill 9100, to which test 101 was moved, as the split left them.
func halves() family.Facts {
	row := bill.Row{ID: 101, LabID: 12, Amount: 40000}
	parent := bill.Bill{ID: original, LabBillID: 301, Source: "Insurance", OrgID: 45, Version: 1, Amounts: bill.Amounts{Total: 60000}}
	made := bill.Bill{ID: newBill, LabBillID: 302, Source: "Org Pay", OrgID: 45, Amounts: bill.Amounts{Total: 40000}}
	record := family.Record{Record: split.Record{ParentID: original, NewID: newBill, Moved: []int64{101}, Rows: []bill.Row{row},
		ParentVersion: 1, Before: bill.Amounts{Total: 100000}, AfterParent: parent.Amounts, AfterNew: made.Amounts,
		NewPayer: bill.Payer{Source: "Org Pay", OrgID: 45}}}
	return family.Facts{Record: &record, Parent: &parent, New: &made, Rows: []bill.Row{row}, OfParent: []family.Record{record}}
}

// later returns the record of a split after the one in halves.
func later(parent, newID, mergedAt int64) family.Record {
	return family.Record{Record: split.Record{ParentID: parent, NewID: newID}, MergedAt: mergedAt}
}

func TestAMergeIsDecidedOnTheFacts(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change func(*family.Facts)
		want   string // reason of the error
	}{
		"as the split left them":   {func(*family.Facts) {}, ""},
		"no bill":                  {func(f *family.Facts) { f.New, f.Record, f.Parent = nil, nil, nil }, bill.NotFound},
		"no split":                 {func(f *family.Facts) { f.Record, f.Parent = nil, nil }, "BILL_NOT_SPLIT"},
		"another's original":       {func(f *family.Facts) { f.Parent = nil }, bill.NotFound},
		"merged before":            {func(f *family.Facts) { f.Record.MergedAt = 5 }, "BILL_ALREADY_MERGED"},
		"the original split again": {func(f *family.Facts) { f.OfParent = append(f.OfParent, later(original, 9200, 0)) }, "LATER_SPLIT"},
		"the new bill split again": {func(f *family.Facts) { f.OfNew = append(f.OfNew, later(newBill, 9200, 0)) }, "LATER_SPLIT"},
		"split and merged since": {func(f *family.Facts) {
			f.OfParent = append(f.OfParent, later(original, 9200, 7))
			f.Parent.Version += 2
		}, ""},
		"an earlier split":            {func(f *family.Facts) { f.OfParent = append(f.OfParent, later(original, 9050, 0)) }, ""},
		"a test changed":              {func(f *family.Facts) { f.Rows[0].Amount-- }, "BILL_CHANGED"},
		"a test was added":            {func(f *family.Facts) { f.Rows = append(f.Rows, bill.Row{ID: 999}) }, "BILL_CHANGED"},
		"written and written back":    {func(f *family.Facts) { f.New.Version = 2 }, "BILL_CHANGED"},
		"another source":              {func(f *family.Facts) { f.Parent.Source = "Self Pay" }, "BILL_CHANGED"},
		"the original is locked":      {func(f *family.Facts) { f.Parent.State.Locked = true }, bill.InvalidState},
		"the new bill is guarded":     {func(f *family.Facts) { f.AroundNew.Guarded = []string{"crm_kit"} }, bill.RelationBlocked},
		"the original is guarded":     {func(f *family.Facts) { f.AroundParent.Guarded = []string{"crm_kit"} }, bill.RelationBlocked},
		"the new bill's source":       {func(f *family.Facts) { f.New.Source = "Self Pay" }, "BILL_CHANGED"},
		"its organization":            {func(f *family.Facts) { f.New.OrgID = 46 }, "BILL_CHANGED"},
		"it has none any more":        {func(f *family.Facts) { f.New.OrgID = 0 }, "BILL_CHANGED"},
		"its patient":                 {func(f *family.Facts) { f.New.PatientID = 503 }, "BILL_CHANGED"},
		"both patients, as one":       {func(f *family.Facts) { f.New.PatientID, f.Parent.PatientID = 503, 503 }, ""},
		"the original's organization": {func(f *family.Facts) { f.Parent.OrgID = 46 }, ""},
		"its time":                    {func(f *family.Facts) { f.New.BilledAt = time.UnixMilli(7) }, ""},
		"a record of version 1.0": {func(f *family.Facts) {
			f.Record.Old, f.Record.NewPayer = true, bill.Payer{}
			f.Rows = []bill.Row{f.Rows[0]}
			f.Rows[0].PatientPayable = 100
		}, ""},
		"one whose organization changed": {func(f *family.Facts) { f.Record.Old, f.New.OrgID = true, 46 }, "BILL_CHANGED"},
		"a smart report of the new":      {func(f *family.Facts) { f.AroundNew.Attachments = []string{"smart_report"} }, ""},
		"an attachment of the new":       {func(f *family.Facts) { f.AroundNew.Attachments = []string{"image"} }, "BILL_CHANGED"},
		"one of the original's":          {func(f *family.Facts) { f.AroundParent.Attachments = []string{"image"} }, ""},
	} {
		facts := halves()
		c.change(&facts)
		d, err := family.Decide(facts, storetest.Asha, time.UnixMilli(5))
		got := ""
		if e, ok := apperr.From(err); ok {
			got = e.Reason
		}
		if got != c.want || (err == nil) != (c.want == "") {
			t.Errorf("%s: refused with %q, %v; want %q", name, got, err, c.want)
		}
		if err == nil && (len(d.Entries) != 2 || d.At != 5 || d.Record.NewID != newBill) {
			t.Errorf("%s: %+v, want the record and an entry for each bill", name, d)
		}
	}
}
