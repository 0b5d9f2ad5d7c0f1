package grpcapi

import (
	"time"

	billsplitv1 "github.com/labplatform/labplatform/proto/gen/lab/billsplit/v1"
	"github.com/labplatform/labplatform/services/billsplit/internal/bill"
	"github.com/labplatform/labplatform/services/billsplit/internal/family"
	"github.com/labplatform/labplatform/services/billsplit/internal/split"
)

// answer returns the response of all modes. Failures determine its status and message.
func answer(message string, failures, warnings []bill.Failure) *billsplitv1.SplitBillResponse {
	out := &billsplitv1.SplitBillResponse{
		Status: success, Message: message, FailedValidation: failuresOf(failures), Warnings: failuresOf(warnings),
	}
	for i, w := range warnings {
		out.Warnings[i].Blocking = &w.Blocking
	}
	if len(failures) > 0 {
		out.Status, out.Message = failed, saidFailed
	}
	return out
}

func failuresOf(failures []bill.Failure) []*billsplitv1.FailedValidation {
	out := make([]*billsplitv1.FailedValidation, len(failures))
	for i, f := range failures {
		out[i] = &billsplitv1.FailedValidation{Type: f.Type, Message: f.Message, Label: f.Label}
	}
	return out
}

func amountsOf(a bill.Amounts) *billsplitv1.BillAmounts {
	return &billsplitv1.BillAmounts{
		Vat: a.VAT.Rupees(), VatPercent: a.VATPercent.Number(), TDSAmount: a.TDS.Rupees(), BillAdvance: a.Advance.Rupees(),
		CoPayAmount: a.CoPay.Rupees(), BillConcession: a.Concession.Rupees(), BillTotalAmount: a.Total.Rupees(),
		DeductibleAmount: a.Deductible.Rupees(), BillAdditionalAmount: a.Additional.Rupees(),
		PatientPayableAmount: a.PatientPayable.Rupees(),
	}
}

func summaryOf(s split.Summary) *billsplitv1.SplitBillSummary {
	return &billsplitv1.SplitBillSummary{Id: s.ID, LabBillId: s.LabBillID, TotalAmount: s.Total.Rupees()}
}

func familyOf(f family.Family) *billsplitv1.GetFamilyResponse {
	out := &billsplitv1.GetFamilyResponse{RootBillId: f.Members[0].Bill.ID, Sum: amountsOf(f.Sum)}
	for _, m := range f.Members {
		out.Bills = append(out.Bills, memberOf(m))
	}
	return out
}

func testOf(t family.Test) *billsplitv1.BilledTest {
	out := &billsplitv1.BilledTest{
		Id: t.ID, Name: t.Name, Amount: t.Amount.Rupees(), Concession: t.Concession.Rupees(),
		IsGone: t.Dismissed || t.Refunded,
	}
	if t.IsChild() {
		out.ProfileId = &t.ProfileID
	}
	return out
}

func memberOf(m family.Member) *billsplitv1.FamilyBill {
	out := &billsplitv1.FamilyBill{
		Id: m.Bill.ID, LabBillId: m.Bill.LabBillID, OrderNumber: m.Bill.OrderNumber, Source: m.Bill.Source,
		Amounts: amountsOf(m.Bill.Amounts), BillTime: m.Bill.BilledAt.UnixMilli(),
	}
	for _, t := range m.Tests {
		out.TestIds = append(out.TestIds, t.ID)
		out.Tests = append(out.Tests, testOf(t))
	}
	if r := m.Origin; r != nil {
		out.ParentBillId, out.MovedTestIds, out.SplitAt = &r.ParentID, r.Moved, &r.At
		if r.BilledAt != 0 {
			out.OriginalBillTime = &r.BilledAt
		}
		if r.MergedAt != 0 {
			out.MergedAt = &r.MergedAt
		}
	}
	return out
}

func todayOf(t family.Today, now time.Time) *billsplitv1.ListSplittableBillsResponse {
	out := &billsplitv1.ListSplittableBillsResponse{Day: t.Day, Total: int32(t.Total), LimitReached: t.More}
	for _, b := range t.Entries {
		out.Bills = append(out.Bills, &billsplitv1.SplittableBill{
			Id: b.ID, LabBillId: b.LabBillID, OrderNumber: b.OrderNumber, Organization: b.Organization,
			Amount: b.Amount.Rupees(), Tests: int32(b.Tests), BillTime: b.BilledAt.UnixMilli(),
			Patient: b.Patient.Message(now),
		})
	}
	return out
}
