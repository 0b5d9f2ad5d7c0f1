package split

import (
	"context"
	"fmt"
	"time"

	"github.com/labplatform/labplatform/pkg/lab/activitylog"
	"github.com/labplatform/labplatform/services/billsplit/internal/bill"
)

// LogContext groups the entries of this service in the activity log.
const LogContext = "BILL_SPLIT"

// Meta is what an entry of the activity log holds: amounts and ids, nothing about the patient.
type Meta struct {
	activitylog.Change[AmountsDocument]
	ParentID int64   `json:"parent_bill_id"`
	NewID    int64   `json:"new_bill_id"`
	Moved    []int64 `json:"moved_test_ids"`
}

// NewMeta returns the meta of one of the two bills of a split.
func NewMeta(r Record, before, after bill.Amounts) Meta {
	change := activitylog.Change[AmountsDocument]{Old: DocumentOf(before), New: DocumentOf(after)}
	return Meta{change, r.ParentID, r.NewID, r.Moved}
}

// log appends one entry for each bill. The new one was nothing before.
func (s *Splitter) log(ctx context.Context, l Locked, r Request, a assessment, rec Record, d Draft) error {
	entry := func(billID int64, text string, before, after bill.Amounts) error {
		return l.Log(ctx, activitylog.Entry{
			Category: activitylog.BillSplit, Context: LogContext, BillID: billID, Actor: r.Actor, Text: text,
			At: time.UnixMilli(rec.At), Meta: NewMeta(rec, before, after),
		})
	}
	text := fmt.Sprintf("Bill %d was split: %d tests moved to bill %d", a.bill.LabBillID, len(rec.Moved), d.LabBillID)
	if err := entry(rec.ParentID, text, rec.Before, rec.AfterParent); err != nil {
		return err
	}
	text = fmt.Sprintf("Bill %d was made by splitting bill %d", d.LabBillID, a.bill.LabBillID)
	return entry(rec.NewID, text, bill.Amounts{}, rec.AfterNew)
}
