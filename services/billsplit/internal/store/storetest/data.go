package storetest

import "github.com/labplatform/labplatform/services/billsplit/internal/bill"

// Bills of Worked. Theirs belongs to laboratory 13.
const (
	Original int64 = 9001
	Theirs   int64 = 9002
	Patient  int64 = 501
)

// Worked returns the state of the worked example: a bill with tests 101 and 102, and profile 103 with children 104 and
// 105, of which 105 is dismissed. Every test has a report.
func Worked() State {
	s := NewState()
	s.Bills[Original] = Bill{LabID: 12, Bill: bill.Bill{
		ID: Original, LabBillID: 301, OrderNumber: "ORD-1", Source: "Insurance", PatientID: Patient, OrgID: 45,
		Amounts: bill.Amounts{
			VAT: 5167, VATPercent: 50_000, TDS: 1000, CoPay: 10333, Concession: 5000, Total: 112500, Additional: 5000,
			PatientPayable: 10333,
		},
	}}
	s.Bills[Theirs] = Bill{LabID: 13, Bill: bill.Bill{
		ID: Theirs, LabBillID: 900, OrderNumber: "ORD-1~7", Source: "insurance", PatientID: 601,
		Amounts: bill.Amounts{Total: 20000},
	}}
	for id, r := range map[int64]bill.Row{
		101: {Amount: 40000, CoPay: 4000}, 102: {Amount: 35000, Concession: 5000, CoPay: 3000},
		103: {Amount: 33333, CoPay: 3333},
		104: {ProfileID: 103}, 105: {ProfileID: 103, Dismissed: true},
	} {
		r.ID, r.LabID = id, 12
		s.Tests[id] = Test{Row: r, BillID: Original}
		s.Reports[id+7000] = Report{LabID: 12, BillID: Original, TestID: id}
	}
	for _, id := range []int64{201, 202} {
		s.Tests[id] = Test{Row: bill.Row{ID: id, LabID: 13, Amount: 10000}, BillID: Theirs}
	}
	return s
}
