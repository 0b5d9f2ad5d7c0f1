package mysql

import (
	"context"
	"strings"
	"time"

	"github.com/labplatform/labplatform/pkg/lab/labtime"
	"github.com/labplatform/labplatform/pkg/lab/sight"
	"github.com/labplatform/labplatform/pkg/lab/worklist"
	"github.com/labplatform/labplatform/pkg/mysqldb"
	"github.com/labplatform/labplatform/services/billsplit/internal/bill"
	"github.com/labplatform/labplatform/services/billsplit/internal/family"
	"github.com/labplatform/labplatform/services/billsplit/internal/split"
)

const (
	ofDay = "b.labId_id = ? AND b.billTime >= ? AND b.billTime < ?"
	// splittable is the condition of bills that pass bill.CheckBill and bill.CheckExecution. A test compares them.
	splittable = " AND TRIM(b.source) = 'Insurance' AND b.billLocked = 0 AND b.billCancelled = 0 AND b.billRefunded = 0" +
		" AND b.billWrittenOff = 0 AND b.isComplete = 0 AND b.isInvoiced = 0 AND b.billAdvance = 0" +
		" AND " + choosable + " > 0" +
		" AND (SELECT COUNT(*) FROM " + counting + ") > 1" +
		" AND NOT EXISTS (SELECT 1 FROM bill_attachment a WHERE a.bill_id = b.id AND a.is_active <> 0" +
		" AND LOWER(a.category) NOT IN ('smart_report', 'image'))"
	counting  = "billingInfo i WHERE i.billId_id = b.id AND i.profileParentId IS NULL AND i.dismissed = 0"
	choosable = "(SELECT COUNT(*) FROM " + counting + " AND i.refunded = 0 AND i.labId_id = b.labId_id)"
)

// Today finds bills by laboratory and time. It looks up by bill id what would prevent a split.
func (s *Store) Today(
	ctx context.Context, sees sight.Sight, now time.Time, p worklist.Page, r split.Rules,
) (family.Today, error) {
	zone, err := labtime.ZoneOf(ctx, s.db, sees.Lab)
	if err != nil {
		return family.Today{}, mysqldb.Wrap("read time zone", err)
	}
	year, month, day := now.In(zone).Date()
	begin := time.Date(year, month, day, 0, 0, 0, 0, zone)
	q := worklist.Query{
		Columns: "b.id, b.labBillId, b.orderNumber, IFNULL(o.orgFullName, ''), b.billTotalAmount, b.billTime, " +
			choosable + ", " + worklist.PatientColumns,
		From: "billing b LEFT JOIN organization o ON o.id = b.orgId_id AND o.labId_id = b.labId_id" +
			worklist.JoinPatient("b.userDetailsId_id", "b.labId_id"),
		Where: ofDay + splittable + s.guards.absent(),
		Args:  []any{sees.Lab.LabID(), begin.UTC(), time.Date(year, month, day+1, 0, 0, 0, 0, zone).UTC()},
		ID:    "b.id",
	}
	if r.RequireLabSwitch {
		q.Where += " AND NOT EXISTS (SELECT 1 FROM labs l WHERE l.id = b.labId_id AND l.enable_bill_split = 0)"
	}
	list, err := worklist.Read(ctx, s.db, sees, q, p, scanSplittable)
	return family.Today{List: list, Day: begin.Format(time.DateOnly)}, err
}

func scanSplittable(row mysqldb.Row, b *family.Splittable) error {
	err := row.Scan(append([]any{&b.ID, &b.LabBillID, &b.OrderNumber, &b.Organization, number{&b.Amount}, &b.BilledAt,
		&b.Tests}, b.Patient.Targets()...)...)
	b.BilledAt = b.BilledAt.UTC()
	return err
}

// absent returns the condition that no guarded table has a row about the bill (alias b).
func (g Guards) absent() string {
	var where strings.Builder
	for _, guard := range bill.Guards() {
		where.WriteString(" AND NOT EXISTS (SELECT 1 FROM `" + guard.Table + "` g" +
			" WHERE g.`" + g.column(guard.Table) + "` = b.id)")
	}
	return where.String()
}
