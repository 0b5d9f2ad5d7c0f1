package split

import (
	"fmt"

	"github.com/labplatform/labplatform/pkg/lab/activitylog"
	"github.com/labplatform/labplatform/services/billsplit/internal/bill"
)

// LogContext groups the entries of this service in the activity log.
const LogContext = "BILL_SPLIT"

// Meta is the meta of an entry in the activity log. It contains amounts and ids, but nothing about the patient.
type Meta struct {
	activitylog.Change[bill.Amounts]
	ParentID int64   `json:"parent_bill_id"`
	NewID    int64   `json:"new_bill_id"`
	Moved    []int64 `json:"moved_test_ids"`
}

// NewMeta returns the meta about one of the two bills of a split.
func NewMeta(r Record, before, after bill.Amounts) Meta {
	change := activitylog.Change[bill.Amounts]{Old: before, New: after}
	return Meta{change, r.ParentID, r.NewID, r.Moved}
}

// Entries returns the entries of the activity log, one per bill. The amounts of the new bill were zero before.
func (d Decision) Entries(newID int64) []activitylog.Entry {
	r := d.RecordOf(newID)
	entry := func(billID int64, text string, before, after bill.Amounts) activitylog.Entry {
		return activitylog.Entry{Category: activitylog.BillSplit, Context: LogContext, BillID: billID, Actor: d.by,
			At: d.at, Text: text, Meta: NewMeta(r, before, after)}
	}
	number, newNumber := d.parent.LabBillID, d.Draft.LabBillID
	return []activitylog.Entry{
		entry(r.ParentID, fmt.Sprintf("Bill %d was split: %d tests moved to bill %d", number, len(r.Moved), newNumber),
			r.Before, r.AfterParent),
		entry(newID, fmt.Sprintf("Bill %d was made by splitting bill %d", newNumber, number), bill.Amounts{}, r.AfterNew),
	}
}
