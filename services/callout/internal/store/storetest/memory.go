package storetest

import (
	"testing"

	"github.com/labplatform/labplatform/pkg/lab/clinical"
	"github.com/labplatform/labplatform/services/callout/internal/callout"
	"github.com/labplatform/labplatform/services/callout/internal/store/memory"
)

// Memory makes the backend of a store in memory, for the suite and for tests of use cases.
func Memory(t *testing.T, c *Clock) Backend {
	t.Helper()
	return Over(t, MemoryStore(t, c))
}

// MemoryStore makes a store in memory that holds what the suite expects.
func MemoryStore(t *testing.T, c *Clock) *memory.Store {
	t.Helper()
	s := memory.New(c, Pace)
	s.Bills[Bill] = memory.Bill{LabID: 12, Bill: callout.Bill{ID: Bill, OrgID: 45, DoctorID: 301, PatientID: Patient}}
	s.Bills[SecondBill] = memory.Bill{LabID: 12, Bill: callout.Bill{ID: SecondBill, PatientID: Patient}}
	s.Bills[ForeignBill] = memory.Bill{LabID: 13, Bill: callout.Bill{ID: ForeignBill, PatientID: 601}}
	s.Administrators[79] = 12
	s.DoctorDepartments[302], s.UserDepartments[78] = []int64{5}, []int64{4}
	s.Formats[66] = []callout.Format{format(t, 6602, 66, PotassiumIndex, "3.5", "5.1", "2.5", "6.5")}
	s.Formats[55] = []callout.Format{
		format(t, 5501, 55, CountIndex, "13", "17", "7", "20"),
		format(t, 5503, 55, UnlimitedIndex, "1", "2", "", ""),
	}
	s.Add(report(Potassium, Bill, 12, 66, 5), report(Count, Bill, 12, 55, 4), report(Second, SecondBill, 12, 66, 5),
		report(Foreign, ForeignBill, 13, 66, 5))
	return s
}

func report(id, bill, lab, test, department int64) memory.Report {
	r := memory.Report{LabID: lab, Report: callout.Report{
		ID: id, BillID: bill, PatientID: Patient, SampleTaken: true, Test: callout.Test{ID: test, DepartmentID: &department},
		Chart: callout.Chart{Tests: []int64{test}},
	}}
	return r
}

func format(t *testing.T, id, test int64, index int, low, high, criticalLow, criticalHigh string) callout.Format {
	t.Helper()
	bound := func(s string) *string {
		if s == "" {
			return nil
		}
		return &s
	}
	l := callout.Limits{
		Low:          bound(low),
		High:         bound(high),
		CriticalLow:  bound(criticalLow),
		CriticalHigh: bound(criticalHigh),
	}
	band := clinical.Band{Gender: 'A'}
	var err error
	if band.Reference.Normal, err = clinical.NewRange(l.Low, l.High); err != nil {
		t.Fatal(err)
	}
	if band.Reference.Critical, err = clinical.NewRange(l.CriticalLow, l.CriticalHigh); err != nil {
		t.Fatal(err)
	}
	return callout.Format{
		ID: id, TestID: test, Index: index, Order: index, Bands: []clinical.Band{band}, Printed: []callout.Printed{l.Print()},
	}
}

// Over makes the backend of a store in memory.
func Over(t *testing.T, s *memory.Store) Backend {
	t.Helper()
	return Backend{
		Reader: s, Callouts: s, Evaluations: s, Escalations: s, Reaps: memory.Reaps{Store: s}, Sweeps: s, Sent: s.Sent,
		SetValue: func(id int64, index int, value string) {
			s.Change(id, func(r *memory.Report) {
				for i := range r.Chart.Readings {
					if r.Chart.Readings[i].Index == index {
						r.Chart.Readings[i].Value = value
						return
					}
				}
				r.Chart.Readings = append(r.Chart.Readings, callout.Reading{Index: index, Order: index, Value: value})
			})
		},
		SetStatus:  func(id int64, to callout.Status) { s.Change(id, func(r *memory.Report) { r.Status = to }) },
		Dismiss:    func(id int64) { s.Change(id, func(r *memory.Report) { r.Dismissed = true }) },
		MoveToBill: func(id, bill int64) { s.Change(id, func(r *memory.Report) { r.BillID = bill }) },
		Setting:    func(lab int64, own callout.Settings) { s.Decided[lab] = own },
	}
}
