package mysql

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"strings"

	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/pkg/mysqldb"
	"github.com/labplatform/labplatform/services/billsplit/internal/bill"
	"github.com/labplatform/labplatform/services/billsplit/internal/family"
	"github.com/labplatform/labplatform/services/billsplit/internal/split"
)

// before is the document of before_values: what an undoing brings back.
type before struct {
	split.AmountsDocument

	SmartReports []int64 `json:"smart_report_attachments,omitempty"`
}

// rowDocument is a bill.Row of moved_rows, amounts in paise.
type rowDocument struct {
	ID         int64      `json:"id"`
	LabID      int64      `json:"lab_id"`
	ProfileID  int64      `json:"profile_id,omitempty"`
	Amount     bill.Paise `json:"amount"`
	Concession bill.Paise `json:"concession"`
	CoPay      bill.Paise `json:"co_pay"`
	Deductible bill.Paise `json:"deductible"`
	Dismissed  bool       `json:"dismissed,omitempty"`
	Refunded   bool       `json:"refunded,omitempty"`
}

func (t *transaction) Record(ctx context.Context, r split.Record) error {
	moved := make([]rowDocument, len(r.Rows))
	for i, row := range r.Rows {
		moved[i] = rowDocument(row)
	}
	var texts [5]string
	for i, document := range []any{
		r.Moved, moved, before{split.DocumentOf(r.Before), r.SmartReports},
		split.DocumentOf(r.AfterParent), split.DocumentOf(r.AfterNew),
	} {
		text, err := json.Marshal(document)
		if err != nil {
			return mysqldb.Wrap("encode record", err)
		}
		texts[i] = string(text)
	}
	_, err := t.tx.ExecContext(ctx, "INSERT INTO bill_split_audit (lab_id, parent_bill_id, new_bill_id,"+
		" moved_billing_info_ids, moved_rows, before_values, after_parent_values, after_new_values, parent_version,"+
		" created_by, created_by_kind, created_at) VALUES (?,?,?,?,?,?,?,?,?,?,?,?)",
		t.lab.LabID(), r.ParentID, r.NewID, texts[0], texts[1], texts[2], texts[3], texts[4], r.ParentVersion,
		r.By.ID, string(r.By.Kind), r.At)
	return mysqldb.Wrap("record split", err)
}

const recordColumns = "a.parent_bill_id, a.new_bill_id, a.moved_billing_info_ids, a.moved_rows, a.before_values," +
	" a.after_parent_values, a.after_new_values, a.parent_version," +
	" COALESCE(a.created_by, 0), a.created_by_kind, a.created_at, COALESCE(m.merged_at, 0)"

const records = "SELECT " + recordColumns + " FROM bill_split_audit a" +
	" LEFT JOIN bill_split_merge m ON m.new_bill_id = a.new_bill_id WHERE a.lab_id = ?"

func (t *transaction) Split(ctx context.Context, newBillID int64) (*family.Record, error) {
	var r family.Record
	err := scanRecord(t.tx.QueryRowContext(ctx, records+" AND a.new_bill_id = ?", t.lab.LabID(), newBillID), &r)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	if err != nil {
		return nil, mysqldb.Wrap("read split", err)
	}
	return &r, nil
}

func scanRecord(row mysqldb.Row, r *family.Record) error {
	var moved, rows, was, parent, made []byte
	if err := row.Scan(
		&r.ParentID,
		&r.NewID,
		&moved,
		&rows,
		&was,
		&parent,
		&made,
		&r.ParentVersion,
		&r.By.ID,
		&r.By.Kind,
		&r.At,
		&r.MergedAt,
	); err != nil {
		return err
	}
	var original before
	var amounts [2]split.AmountsDocument
	err := errors.Join(json.Unmarshal(moved, &r.Moved), json.Unmarshal(was, &original),
		json.Unmarshal(parent, &amounts[0]), json.Unmarshal(made, &amounts[1]))
	if err != nil {
		return err
	}
	if r.Rows, err = rowsOf(rows); err != nil {
		return err
	}
	r.SmartReports = original.SmartReports
	for _, a := range []struct {
		document split.AmountsDocument
		into     *bill.Amounts
	}{{original.AmountsDocument, &r.Before}, {amounts[0], &r.AfterParent}, {amounts[1], &r.AfterNew}} {
		if *a.into, err = a.document.Amounts(); err != nil {
			return err
		}
	}
	return nil
}

// rowsOf reads moved_rows.
func rowsOf(text []byte) ([]bill.Row, error) {
	var documents []rowDocument
	if err := json.Unmarshal(text, &documents); err != nil {
		return nil, err
	}
	rows := make([]bill.Row, len(documents))
	for i, d := range documents {
		rows[i] = bill.Row(d)
	}
	return rows, nil
}

func (t *transaction) SplitsOf(ctx context.Context, billID int64) ([]family.Record, error) {
	return t.children(ctx, []int64{billID})
}

func (t *transaction) Undone(ctx context.Context, newBillID int64, by authn.Actor, at int64) error {
	_, err := t.tx.ExecContext(ctx, "INSERT INTO bill_split_merge (new_bill_id, lab_id, merged_by, merged_by_kind,"+
		" merged_at) VALUES (?,?,?,?,?)", newBillID, t.lab.LabID(), by.ID, string(by.Kind), at)
	return mysqldb.Wrap("record merge", err)
}

// Family implements family.Reader: up to the root, then down, one statement a generation.
func (s *Store) Family(ctx context.Context, lab authn.LabScope, billID int64) ([]family.Member, error) {
	var members []family.Member
	err := s.snapshot(ctx, lab, func(t *transaction) error {
		root, err := t.root(ctx, billID)
		if err != nil {
			return err
		}
		origins, err := t.descendants(ctx, root)
		if err != nil {
			return err
		}
		members, err = t.members(ctx, root, origins)
		return err
	})
	return members, err
}

func (t *transaction) root(ctx context.Context, billID int64) (int64, error) {
	for {
		r, err := t.Split(ctx, billID)
		if err != nil || r == nil {
			return billID, err
		}
		billID = r.ParentID
	}
}

func (t *transaction) descendants(ctx context.Context, root int64) (map[int64]family.Record, error) {
	found := map[int64]family.Record{}
	for generation := []int64{root}; len(generation) > 0; {
		children, err := t.children(ctx, generation)
		if err != nil {
			return nil, err
		}
		generation = nil
		for _, r := range children {
			found[r.NewID] = r
			generation = append(generation, r.NewID)
		}
	}
	return found, nil
}

func (t *transaction) children(ctx context.Context, parents []int64) ([]family.Record, error) {
	marks, args := mysqldb.In(parents, t.lab.LabID())
	query := records + " AND a.parent_bill_id IN (" + marks + ") ORDER BY a.new_bill_id"
	list, err := mysqldb.Collect(ctx, t.tx, query, args, scanRecord)
	return list, mysqldb.Wrap("read splits", err)
}

// members reads the bills with their tests, by id.
func (t *transaction) members(
	ctx context.Context, root int64, origins map[int64]family.Record,
) ([]family.Member, error) {
	ids := []int64{root}
	for id := range origins {
		ids = append(ids, id)
	}
	tests, err := t.tests(ctx, ids)
	if err != nil {
		return nil, err
	}
	marks, args := mysqldb.In(ids, t.lab.LabID())
	query := "SELECT id, " + headColumns + " FROM billing WHERE labId_id = ? AND id IN (" + marks + ") ORDER BY id"
	members, err := mysqldb.Collect(ctx, t.tx, query, args, func(row mysqldb.Row, m *family.Member) error {
		err := scanBill(row, &m.Bill)
		m.Tests = tests[m.Bill.ID]
		if r, ok := origins[m.Bill.ID]; ok {
			m.Origin = &r
		}
		return err
	})
	return members, mysqldb.Wrap("read family", err)
}

func (t *transaction) tests(ctx context.Context, bills []int64) (map[int64][]family.Test, error) {
	marks, args := mysqldb.In(bills, t.lab.LabID())
	query := "SELECT i.billId_id, COALESCE(n.testName, ''), i." + strings.ReplaceAll(rowColumns, ", ", ", i.") +
		" FROM billingInfo i JOIN billing b ON b.id = i.billId_id AND b.labId_id = ?" +
		" LEFT JOIN AllTests n ON n.id = i.testId_id AND COALESCE(n.labId_id, b.labId_id) = b.labId_id" +
		" WHERE i.billId_id IN (" + marks + ") ORDER BY i.id"
	tests := map[int64][]family.Test{}
	err := mysqldb.Each(ctx, t.tx, query, args, func(rows *sql.Rows) error {
		var billID int64
		var one family.Test
		err := scanRow(rows, &one.Row, &billID, &one.Name)
		tests[billID] = append(tests[billID], one)
		return err
	})
	return tests, mysqldb.Wrap("read tests", err)
}
