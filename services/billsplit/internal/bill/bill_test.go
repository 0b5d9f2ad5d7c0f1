package bill_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/labplatform/labplatform/services/billsplit/internal/bill"
)

var workedHead = bill.Amounts{
	VAT: 5167, VATPercent: 50_000, TDS: 1000, CoPay: 10333, Concession: 5000, Total: 112500, Additional: 5000, PatientPayable: 10333,
}

var workedRows = []bill.Row{
	{ID: 101, Amount: 40000, CoPay: 4000}, {ID: 102, Amount: 35000, Concession: 5000, CoPay: 3000}, {ID: 103, Amount: 33333, CoPay: 3333},
}

// split moves tests off a bill. It returns the division and the rows that stay.
func split(head bill.Amounts, rows []bill.Row, ids ...int64) (bill.Division, []bill.Row) {
	moved := bill.Select(rows, ids).Moved
	stay := slices.DeleteFunc(slices.Clone(rows), func(r bill.Row) bool { return slices.Contains(moved, r) })
	return bill.Divide(head, rows, moved, bill.Carry), stay
}

// TestTheWorkedExample checks the documented table: test 103 is moved first, then test 102. The patient's part moves
// with them.
func TestTheWorkedExample(t *testing.T) {
	t.Parallel()
	first, stay := split(workedHead, workedRows, 103)
	second, _ := split(first.Parent, stay, 102)
	for _, c := range []struct {
		name      string
		got, want bill.Amounts
	}{
		{"split 103", first.New, bill.Amounts{Total: 36290, VAT: 1667, TDS: 323, Additional: 1613, CoPay: 3333, PatientPayable: 3333,
			VATPercent: 50_000}},
		{"parent after", first.Parent, bill.Amounts{Total: 76210, VAT: 3500, TDS: 677, Additional: 3387, Concession: 5000, CoPay: 7000,
			PatientPayable: 7000, VATPercent: 50_000}},
		{"split 102", second.New, bill.Amounts{Total: 32662, VAT: 1500, TDS: 290, Additional: 1452, Concession: 5000, CoPay: 3000,
			PatientPayable: 3000, VATPercent: 50_000}},
		{"parent after that", second.Parent, bill.Amounts{Total: 43548, VAT: 2000, TDS: 387, Additional: 1935, CoPay: 4000,
			PatientPayable: 4000, VATPercent: 50_000}},
	} {
		if diff := cmp.Diff(c.want, c.got); diff != "" {
			t.Errorf("%s: got %s, want none", c.name, diff)
		}
	}
	if got := types(append(first.Notes, second.Notes...)); got != "PATIENT_PART_MOVED PATIENT_PART_MOVED" {
		t.Errorf("warnings %q, want that the patient's part moved, twice", got)
	}
}

func types(notes []bill.Failure) string {
	list := make([]string, len(notes))
	for i, n := range notes {
		list[i] = n.Type
	}
	return strings.Join(list, " ")
}

// TestWhatThePatientPaysMovesByDifference moves test 1 of insured bills and checks the patient's part of the new bill.
func TestWhatThePatientPaysMovesByDifference(t *testing.T) {
	t.Parallel()
	large := []bill.Row{{ID: 1, Amount: 90000}, {ID: 2, Amount: 10000}}
	const moved, disagrees, limited = "PATIENT_PART_MOVED", "BILL_AMOUNTS_DISAGREE", "MOVED_AMOUNT_LIMITED"
	for name, c := range map[string]struct {
		head     bill.Amounts
		rows     []bill.Row
		want     bill.Amounts // amounts of the new bill, without the total
		warnings string
	}{
		"a deductible of the policy": {bill.Amounts{Total: 100_000, Deductible: 50_000, PatientPayable: 50_000}, large,
			bill.Amounts{Deductible: 45_000, PatientPayable: 45_000}, moved},
		"a co-pay of the bill": {bill.Amounts{Total: 100_000, CoPay: 20_000, PatientPayable: 20_000}, large,
			bill.Amounts{CoPay: 18_000, PatientPayable: 18_000}, moved},
		"a test that is not covered and stays": {bill.Amounts{Total: 100_000, PatientPayable: 10_000},
			[]bill.Row{large[0], {ID: 2, Amount: 10_000, PatientPayable: 10_000}}, bill.Amounts{}, ""},
		"a test that is not covered and moves": {bill.Amounts{Total: 100_000, PatientPayable: 90_000},
			[]bill.Row{{ID: 1, Amount: 90_000, PatientPayable: 90_000}, large[1]}, bill.Amounts{PatientPayable: 90_000}, moved},
		"tests and bill disagree": {bill.Amounts{Total: 20_000, CoPay: 3_000, PatientPayable: 3_000},
			[]bill.Row{{ID: 1, Amount: 10_000, CoPay: 5_000}, {ID: 2, Amount: 10_000, CoPay: 1_000}},
			bill.Amounts{CoPay: 1_500, PatientPayable: 1_500}, disagrees + " " + moved},
		"more than the new bill costs": {bill.Amounts{Total: 100_000, CoPay: 30_000},
			[]bill.Row{{ID: 1, Amount: 10_000, CoPay: 30_000}, {ID: 2, Amount: 90_000}}, bill.Amounts{CoPay: 10_000}, limited + " " + moved},
		"more than stays": {bill.Amounts{Total: 100_000, CoPay: 30_000},
			[]bill.Row{{ID: 1, Amount: 90_000}, {ID: 2, Amount: 10_000, CoPay: 30_000}}, bill.Amounts{CoPay: 20_000}, limited + " " + moved},
		"more than the bill before": {bill.Amounts{Total: 10_000, CoPay: 30_000},
			[]bill.Row{{ID: 1, Amount: 5_000, CoPay: 30_000}, {ID: 2, Amount: 5_000}}, bill.Amounts{CoPay: 30_000}, moved},
		"tests with a co-pay and without a patient's part": {bill.Amounts{Total: 100_000, CoPay: 10_000, PatientPayable: 10_000},
			[]bill.Row{{ID: 1, Amount: 90_000}, {ID: 2, Amount: 10_000, CoPay: 10_000}},
			bill.Amounts{PatientPayable: 9_000}, disagrees + " " + moved},
		"a refunded test's own": {bill.Amounts{Total: 90_000, CoPay: 900},
			[]bill.Row{{ID: 1, Amount: 90_000, CoPay: 900}, {ID: 2, Amount: 10_000, CoPay: 100, Refunded: true}}, bill.Amounts{CoPay: 900}, moved},
	} {
		d, _ := split(c.head, c.rows, 1)
		c.want.Total = d.New.Total
		if diff := cmp.Diff(c.want, d.New); diff != "" || types(d.Notes) != c.warnings {
			t.Errorf("%s: warnings %+v, want %q; the new bill (-want +got): %s", name, d.Notes, c.warnings, diff)
		}
		if d.Parent.Plus(d.New) != c.head {
			t.Errorf("%s: %+v and %+v, want a sum of %+v", name, d.Parent, d.New, c.head)
		}
	}
}

// TestADiscountOfTheBillIsSharedByPrice moves three of four tests, one after the other, and checks the share of each
// new bill.
func TestADiscountOfTheBillIsSharedByPrice(t *testing.T) {
	t.Parallel()
	head, rows := bill.Amounts{Total: 90_000, Concession: 10_000}, []bill.Row{
		{ID: 1, Amount: 25_000}, {ID: 2, Amount: 25_000}, {ID: 3, Amount: 25_000}, {ID: 4, Amount: 25_000}}
	want := bill.Amounts{Total: 22_500, Concession: 2_500}
	for id := int64(1); id <= 3; id++ {
		var d bill.Division
		if d, rows = split(head, rows, id); d.New != want || types(d.Notes) != bill.AmountsDisagree {
			t.Errorf("test %d: %+v with %+v, want %+v and a warning", id, d.New, d.Notes, want)
		}
		head = d.Parent
	}
	if head != want {
		t.Errorf("the rest is %+v, want %+v", head, want)
	}
}

func TestTheRateOfVAT(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		rule         bill.PercentRule
		head         bill.Amounts
		moved        bill.Paise
		parent, made bill.Percent
	}{
		"carried":                        {bill.Carry, bill.Amounts{VAT: 1800, VATPercent: 180_000, Total: 12800, Additional: 1000}, 5000, 180_000, 180_000},
		"derived":                        {bill.Derive, bill.Amounts{VAT: 1800, VATPercent: 180_000, Total: 12800, Additional: 1000}, 5000, 163_636, 163_636},
		"carried from nothing":           {bill.Carry, bill.Amounts{VAT: 1800, Total: 11800}, 5000, 180_000, 180_000},
		"no tax":                         {bill.Carry, bill.Amounts{Total: 10000}, 5000, 0, 0},
		"a tax on nothing":               {bill.Derive, bill.Amounts{VAT: 100, Total: 100}, 0, 0, 0},
		"a tax far above what it is on":  {bill.Derive, bill.Amounts{VAT: 100_000, Total: 100_010}, 5, 9_999_999, 9_999_999},
		"a bill whose tax is taken back": {bill.Derive, bill.Amounts{VAT: -1800, Total: 8200}, 5000, -180_000, -180_000},
	}
	for name, c := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			moved := []bill.Row{{ID: 1, Amount: c.moved}}
			rest := bill.Row{ID: 2, Amount: c.head.Base() - c.moved}
			d := bill.Divide(c.head, append(moved, rest), moved, c.rule)
			if d.Parent.VATPercent != c.parent || d.New.VATPercent != c.made {
				t.Errorf("%v and %v, want %v and %v", d.Parent.VATPercent, d.New.VATPercent, c.parent, c.made)
			}
		})
	}
}

func TestOldBillsAreDividedByTheirHead(t *testing.T) {
	t.Parallel()
	one := func(amount bill.Paise) []bill.Row { return []bill.Row{{ID: 1, Amount: amount}} }
	tests := map[string]struct {
		head    bill.Amounts
		moved   []bill.Row
		total   bill.Paise // total of the new bill
		limited bool
	}{
		"tests that cost more than the bill": {bill.Amounts{Total: 10_000}, one(12_000), 10_000, true},
		"a free bill":                        {bill.Amounts{Total: 500, Additional: 500}, one(0), 0, false},
		"a free bill with a price":           {bill.Amounts{}, one(700), 0, true},
		"a credit line alone":                {bill.Amounts{Total: 10_000}, one(-500), 0, true},
		"a credit line beside a test":        {bill.Amounts{Total: 10_000}, []bill.Row{{ID: 1, Amount: 900}, {ID: 2, Amount: -400}}, 500, false},
		"a discount of 100 %":                {bill.Amounts{Total: 10_000, Concession: 800}, []bill.Row{{ID: 1, Amount: 800, Concession: 800}}, 0, false},
		"a concession that the head lacks":   {bill.Amounts{Total: 10_000}, []bill.Row{{ID: 1, Amount: 800, Concession: 300}}, 500, true},
		"a rounding below zero":              {bill.Amounts{Total: 9_967, Additional: -33}, one(5_000), 4_983, false},
		"a paisa that rounding would owe":    {bill.Amounts{VAT: 1, Additional: 1, TDS: 5, Total: 0}, one(1), 0, false},
	}
	for name, c := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rest := bill.Row{ID: 9, Amount: c.head.Base()}
			for _, row := range c.moved {
				rest.Amount -= row.Amount - row.Concession
			}
			d := bill.Divide(c.head, append(slices.Clone(c.moved), rest), c.moved, bill.Carry)
			if d.New.Total != c.total || strings.Contains(types(d.Notes), bill.AmountLimited) != c.limited {
				t.Errorf("total %v, warnings %+v; want %v, limited %v", d.New.Total, d.Notes, c.total, c.limited)
			}
		})
	}
}

func TestNotesOnTestsAndReports(t *testing.T) {
	t.Parallel()
	rows := []bill.Row{{ID: 1, Amount: 900}, {ID: 2, Amount: -100}, {ID: 3, Amount: 50, Refunded: true}, {ID: 4, ProfileID: 1}}
	for name, c := range map[string]struct {
		ids     []int64
		reports []bill.Report
		want    string
	}{
		"nothing to say":             {[]int64{1}, []bill.Report{{ID: 7, TestID: 1}, {ID: 8, TestID: 2, Signed: true}}, ""},
		"a credit":                   {[]int64{2}, nil, bill.CreditMoved},
		"only a refunded test stays": {[]int64{1, 2}, nil, bill.OnlyRefundedLeft + " " + bill.CreditMoved},
		"a report without a test":    {[]int64{1}, []bill.Report{{ID: 7}}, bill.ReportsStay},
		"a signed report of a child": {[]int64{1}, []bill.Report{{ID: 7, TestID: 4, Signed: true}}, bill.SignedReportsMove},
	} {
		if got := types(bill.Notes(rows, bill.Select(rows, c.ids), c.reports)); got != c.want {
			t.Errorf("%s: warnings %q, want %q", name, got, c.want)
		}
	}
}

func TestSelection(t *testing.T) {
	t.Parallel()
	all := []bill.Row{
		{ID: 7, ProfileID: 6}, {ID: 1}, {ID: 2}, {ID: 3, ProfileID: 2}, {ID: 4, ProfileID: 2, Dismissed: true}, {ID: 5, Dismissed: true},
		{ID: 6, ProfileID: 2}, {ID: 8, ProfileID: 99},
	}
	tests := map[string]struct {
		ids                   []int64
		moved, missing, alone []int64
		stays                 int
	}{
		"a profile takes its children and theirs": {[]int64{2}, []int64{2, 3, 4, 6, 7}, nil, nil, 1},
		"a child with its profile":                {[]int64{3, 2}, []int64{2, 3, 4, 6, 7}, nil, nil, 1},
		"a child alone":                           {[]int64{3}, nil, nil, []int64{3}, 2},
		"a child whose profile is elsewhere":      {[]int64{8}, nil, nil, []int64{8}, 2},
		"everything that counts":                  {[]int64{2, 1}, []int64{1, 2, 3, 4, 6, 7}, nil, nil, 0},
		"unknown ones":                            {[]int64{77, 1, -5}, []int64{1}, []int64{77, -5}, nil, 1},
	}
	for name, c := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := bill.Select(all, c.ids)
			if !slices.Equal(bill.IDs(s.Moved), c.moved) || !slices.Equal(s.Missing, c.missing) || !slices.Equal(s.Alone, c.alone) || s.Stays != c.stays {
				t.Errorf("%+v", s)
			}
		})
	}
}

// TestWhatMovesWithItsProfileIsCheckedToo checks a child that moves with profile 1 although it was not requested.
func TestWhatMovesWithItsProfileIsCheckedToo(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		child bill.Row
		want  []string
	}{
		{bill.Row{LabID: 12}, nil},
		{bill.Row{LabID: 13}, []string{bill.TestsNotFromSameLab}},
		{bill.Row{LabID: 12, Refunded: true}, []string{bill.TestsDismissed}},
		{bill.Row{LabID: 12, Dismissed: true}, nil}, // moves along and has no price
	} {
		c.child.ID, c.child.ProfileID = 2, 1
		var types []string
		for _, f := range bill.CheckTests(bill.Select([]bill.Row{{ID: 1, LabID: 12}, c.child}, []int64{1}), 12) {
			types = append(types, f.Type)
			if !strings.HasSuffix(f.Message, ": 2") {
				t.Errorf("%s does not name the child", f.Message)
			}
		}
		if !slices.Equal(types, c.want) {
			t.Errorf("%+v: %v, want %v", c.child, types, c.want)
		}
	}
}

func TestAProfileInACircleEnds(t *testing.T) {
	t.Parallel()
	s := bill.Select([]bill.Row{{ID: 1, ProfileID: 2}, {ID: 2, ProfileID: 1}, {ID: 3, ProfileID: 3}}, []int64{1, 2, 3})
	if len(s.Moved) != 0 || len(s.Alone) != 3 {
		t.Errorf("%+v", s)
	}
}

func TestOrderNumbers(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		order  string
		family []string
		want   string
	}{
		{"ORD-1", nil, "ORD-1~1"},
		{"ORD-1~1", []string{"ORD-1~1"}, "ORD-1~2"},
		{"ORD-1", []string{"ORD-1~1", "ORD-1~12", "ORD-1~x", "ORD-1~3~4"}, "ORD-1~13"},
		{"", []string{"~4"}, ""},
		{"A~B", nil, "A~B~1"},
		{"A~0", nil, "A~0~1"},
	} {
		if got, err := bill.NextOrder(c.order, c.family); err != nil || got != c.want {
			t.Errorf("%q %v: %q %v, want %q", c.order, c.family, got, err, c.want)
		}
	}
	if _, err := bill.NextOrder(strings.Repeat("x", 63), nil); err == nil {
		t.Error("65 characters fit")
	}
}

func TestDecimals(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bill.Paise{"1125.00": 112500, "0.05": 5, "-0.05": -5, "-12.3": -1230, "7": 700, "999999999999.99": 99999999999999} {
		if got, err := bill.ParsePaise(text); err != nil || got != want {
			t.Errorf("%s: %d %v", text, got, err)
		}
	}
	for _, text := range []string{"", "x", "1.234", "1.-2", "1e3", "--1", "99999999999999999999"} {
		if got, err := bill.ParsePaise(text); err == nil {
			t.Errorf("%q is %d", text, got)
		}
	}
	for want, p := range map[string]bill.Paise{"0.00": 0, "-0.05": -5, "1125.00": 112500, "-12.30": -1230} {
		if p.String() != want {
			t.Errorf("%s, want %s", p, want)
		}
	}
	if got := bill.Percent(180_000).String(); got != "18.0000" {
		t.Error(got)
	}
	if got := bill.Paise(99_999_999_999_999).Rupees(); got != 999999999999.99 {
		t.Error(got)
	}
}

func TestChecksInTheirOrder(t *testing.T) {
	t.Parallel()
	around := bill.Surroundings{Attachments: []string{"image", "Smart_Report", "prescription"}}
	for _, g := range slices.Backward(bill.Guards()) {
		around.Guarded = append(around.Guarded, g.Table)
	}
	b := bill.Bill{Source: "Self Pay", State: bill.State{Locked: true, WrittenOff: true}, Amounts: bill.Amounts{Advance: -1}}
	s := bill.Select([]bill.Row{{ID: 1, LabID: 13}, {ID: 2, LabID: 12, Refunded: true}, {ID: 3, LabID: 12, ProfileID: 2}, {ID: 4, LabID: 12, ProfileID: 9}}, []int64{9, 1, 2, 4})
	failures := slices.Concat(bill.CheckBill(b, around), bill.CheckTests(s, 12), bill.CheckExecution(b, s, around))
	want := bill.FailureTypes()[1:]
	for range len(bill.Guards()) - 1 {
		want = append(want, bill.RelationBlocked)
	}
	var types, tables []string
	for _, f := range failures {
		types = append(types, f.Type)
		if f.Type == bill.RelationBlocked {
			tables = append(tables, f.Message)
		}
	}
	if diff := cmp.Diff(want, types); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"finance_insurance_claim", "finance_bill_claim_relation", "finance_claim_test_relation", "finance_claim_provider_info",
		"patient_home_collection", "patient_emr_appointments", "payments_payment_gateway_transactions", "crm_kit", "integration_shipping_details",
		"patient_linked_bill", "account_processed_file", "patient_b2b_patient", "integration_test_clinical_info", "finance_bill_classifier_tags"}, tables); diff != "" {
		t.Error(diff)
	}
	if !strings.Contains(failures[1].Message, "locked, written off") {
		t.Error(failures[1].Message)
	}
	open := bill.Bill{Source: " INSURANCE"}
	if f := slices.Concat(bill.CheckBill(open, bill.Surroundings{}), bill.CheckTests(bill.Select(workedRows, []int64{101}), 0),
		bill.CheckExecution(open, bill.Select(workedRows, []int64{101}), bill.Surroundings{Attachments: []string{"image", "smart_report"}})); len(f) != 0 {
		t.Errorf("%+v", f)
	}
	many := make([]int64, 10_000)
	for i := range many {
		many[i] = int64(i) + 5000
	}
	if f := bill.CheckTests(bill.Select(nil, many), 12); len(f) != 1 || !strings.HasSuffix(f[0].Message, "5019 and 9980 more") {
		t.Errorf("%+v", f)
	}
}
