package split_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/labplatform/labplatform/pkg/apperr"
	"github.com/labplatform/labplatform/services/billsplit/internal/bill"
	"github.com/labplatform/labplatform/services/billsplit/internal/split"
	"github.com/labplatform/labplatform/services/billsplit/internal/store/storetest"
)

var now = time.UnixMilli(1_790_000_000_000)

// worked returns the facts of the worked example: the original bill, whose next split gets number 302.
func worked() split.Facts {
	head := storetest.Worked().Bills[original].Bill
	head.BilledAt = storetest.BilledAt
	f := split.Facts{Enabled: true, Bill: &head, NextNumber: 302, OrderNumbers: []string{"ORD-1~1"}, SmartReports: []int64{7}}
	for id := int64(101); id <= 105; id++ {
		f.Rows = append(f.Rows, storetest.Worked().Tests[id].Row)
	}
	return f
}

func TestASplitIsDecidedOnTheFacts(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change func(*split.Facts)
		tests  []int64
		want   string // types of the failures, or the reason of the error
	}{
		"a profile":                {func(*split.Facts) {}, []int64{103}, ""},
		"no bill":                  {func(f *split.Facts) { f.Bill, f.Rows = nil, nil }, []int64{103}, bill.NotFound},
		"the switch is off":        {func(f *split.Facts) { f.Enabled = false }, []int64{103}, "BILL_SPLIT_DISABLED"},
		"not an insurance's":       {func(f *split.Facts) { f.Bill.Source = "Self Pay" }, []int64{103}, bill.InvalidSource},
		"an invoiced bill":         {func(f *split.Facts) { f.Bill.State.Invoiced = true }, []int64{103}, bill.InvalidState},
		"an unknown test":          {func(*split.Facts) {}, []int64{7}, bill.TestsNotFound},
		"a child alone":            {func(*split.Facts) {}, []int64{104}, bill.InvalidTest},
		"every test":               {func(*split.Facts) {}, []int64{101, 102, 103}, bill.ZeroTestsLeft},
		"an advance":               {func(f *split.Facts) { f.Bill.Amounts.Advance = 1 }, []int64{103}, bill.AdvanceNotAllowed},
		"a guarded bill":           {func(f *split.Facts) { f.Around.Guarded = []string{"crm_kit"} }, []int64{103}, bill.RelationBlocked},
		"a document":               {func(f *split.Facts) { f.Around.Attachments = []string{"document"} }, []int64{103}, bill.UnsupportedAttachments},
		"a long order number":      {func(f *split.Facts) { f.Bill.OrderNumber = strings.Repeat("x", 63) }, []int64{103}, "ORDER_NUMBER_TOO_LONG"},
		"checks of all modes":      {func(f *split.Facts) { f.Bill.Amounts.Advance = 1 }, []int64{7, 104}, "TO_SPLIT_TESTS_NOT_FOUND INVALID_TO_SPLIT_TEST BILL_ADVANCE_NOT_ALLOWED"},
		"without an order number":  {func(f *split.Facts) { f.Bill.OrderNumber = "" }, []int64{103}, ""},
		"a smart report, an image": {func(f *split.Facts) { f.Around.Attachments = []string{"smart_report", "image"} }, []int64{103}, ""},
	} {
		facts := worked()
		c.change(&facts)
		r := split.Request{Lab: storetest.Lab(t, 12), BillID: original, Tests: c.tests, Source: bill.OrgPay, Actor: storetest.Asha}
		d, err := split.Rules{VATPercent: bill.Carry, RequireLabSwitch: true}.Decide(facts, r, now)
		if got := refusal(err); got != c.want {
			t.Errorf("%s: refused with %q, %v; want %q", name, got, err, c.want)
		}
		if err == nil && d.Record.AfterParent.Total+d.Record.AfterNew.Total != facts.Bill.Amounts.Total {
			t.Errorf("%s: totals %d and %d, want them to sum to %d", name, d.Record.AfterParent.Total, d.Record.AfterNew.Total,
				facts.Bill.Amounts.Total)
		}
	}
}

func refusal(err error) string {
	if refused := (*split.Refused)(nil); errors.As(err, &refused) {
		types := make([]string, len(refused.Failures))
		for i, f := range refused.Failures {
			types[i] = f.Type
		}
		return strings.Join(types, " ")
	}
	if e, ok := apperr.From(err); ok {
		return e.Reason
	}
	return ""
}

func TestWhatADecisionStores(t *testing.T) {
	t.Parallel()
	r := split.Request{Lab: storetest.Lab(t, 12), BillID: original, Tests: []int64{102}, Source: bill.SelfPay, Actor: storetest.Asha}
	d, err := split.Rules{VATPercent: bill.Carry}.Decide(worked(), r, now)
	if err != nil {
		t.Fatal(err)
	}
	want := split.Draft{LabBillID: 302, OrderNumber: "ORD-1~2", Source: bill.SelfPay, BilledAt: now.UTC(), Amounts: d.Record.AfterNew}
	if diff := cmp.Diff(want, d.Draft); diff != "" {
		t.Errorf("the draft (-want +got): %s", diff)
	}
	record := d.RecordOf(9100)
	if record.ParentID != original || record.NewID != 9100 || record.ParentVersion != 1 || record.SmartReports[0] != 7 ||
		len(record.Rows) != 1 || record.Rows[0] != worked().Rows[1] || record.At != now.UnixMilli() || record.By.Name != "" ||
		record.BilledAt != storetest.BilledAt.UnixMilli() || record.NewPayer != (bill.Payer{Source: "Self Pay", OrgID: 45}) {
		t.Errorf("the record is %+v", record)
	}
	entries := d.Entries(9100)
	if len(entries) != 2 || entries[0].BillID != original || entries[1].BillID != 9100 || !entries[1].At.Equal(now) {
		t.Errorf("entries %+v, want one for each bill", entries)
	}
	var result split.Result
	answer, err := d.Answer(9100)
	if err := errors.Join(err, json.Unmarshal(answer, &result)); err != nil || result.New.ID != 9100 ||
		result.New.LabBillID != 302 || result.Original.ID != original || result.Original.Total != d.Record.AfterParent.Total {
		t.Errorf("the answer is %+v, %v", result, err)
	}
}
