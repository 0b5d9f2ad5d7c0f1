package mysql

import (
	"context"
	"database/sql"
	"maps"
	"slices"

	"github.com/labplatform/labplatform/pkg/lab/sight"
	"github.com/labplatform/labplatform/pkg/mysqldb"
	"github.com/labplatform/labplatform/services/search/internal/search"
)

const (
	ownBills = "SELECT b.userDetailsId_id, b.id, b.labBillId, b.orderNumber FROM billing b" +
		" WHERE b.labId_id = ? AND b.userDetailsId_id IN ("
	ownReports = "SELECT r.userDetailsId_id, r.id, r.sampleId, r.manualSampleId, r.lrfId FROM labReportRelation r" +
		" LEFT JOIN billing b ON b.id = r.billId_id AND b.labId_id = r.labId_id" +
		" WHERE r.labId_id = ? AND r.userDetailsId_id IN ("
)

// Own removes from patients the numbers of bills and reports that the login may not see. It also removes another
// organization that registered the patient from the hits of an organization.
func (s *Store) Own(ctx context.Context, sees sight.Sight, patients []*search.Person) error {
	own := map[int64]*search.Person{} // the numbers to keep, by patient
	for _, p := range patients {
		own[p.UserID] = &search.Person{}
	}
	read := func(query string, condition func(string) string, scan func(*sql.Rows) error) error {
		marks, args := mysqldb.In(slices.Collect(maps.Keys(own)), sees.Lab.LabID())
		where, ids := sees.Conditions(condition)
		err := mysqldb.Each(ctx, s.db, query+marks+")"+where, append(args, ids...), scan)
		return mysqldb.Wrap("read own numbers of patients", err)
	}
	var user, id, number int64
	var order, sample, manual, form string
	if err := read(ownBills, sight.OfBill, func(rows *sql.Rows) error {
		if err := rows.Scan(&user, &id, &number, &order); err != nil {
			return withoutValue(err)
		}
		o := own[user]
		o.BillIDs, o.LabBillIDs = append(o.BillIDs, id), append(o.LabBillIDs, number)
		o.OrderNumbers = append(o.OrderNumbers, order)
		return nil
	}); err != nil {
		return err
	}
	if err := read(ownReports, ofReportOrBill, func(rows *sql.Rows) error {
		if err := rows.Scan(&user, &id, &sample, &manual, &form); err != nil {
			return withoutValue(err)
		}
		o := own[user]
		o.LabReportIDs, o.SampleIDs = append(o.LabReportIDs, id), append(o.SampleIDs, sample)
		o.ManualSampleIDs, o.LrfIDs = append(o.ManualSampleIDs, manual), append(o.LrfIDs, form)
		return nil
	}); err != nil {
		return err
	}
	for _, p := range patients {
		o := own[p.UserID]
		p.BillIDs, p.LabBillIDs = both(p.BillIDs, o.BillIDs), both(p.LabBillIDs, o.LabBillIDs)
		p.OrderNumbers = both(p.OrderNumbers, o.OrderNumbers)
		p.LabReportIDs, p.SampleIDs = both(p.LabReportIDs, o.LabReportIDs), both(p.SampleIDs, o.SampleIDs)
		p.ManualSampleIDs, p.LrfIDs = both(p.ManualSampleIDs, o.ManualSampleIDs), both(p.LrfIDs, o.LrfIDs)
		p.LastBillTime = nil // may be that of a bill that the login may not see
		if p.OrgID != nil && sees.OrgID != 0 && *p.OrgID != sees.OrgID {
			p.OrgID = nil
		}
	}
	return nil
}

// both returns the members of list that are in own too.
func both[T comparable](list, own []T) []T {
	return slices.DeleteFunc(list, func(v T) bool { return !slices.Contains(own, v) })
}
