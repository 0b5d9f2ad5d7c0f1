package mysql

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"

	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/pkg/mysqldb"
	"github.com/labplatform/labplatform/services/billsplit/internal/bill"
	"github.com/labplatform/labplatform/services/billsplit/internal/family"
	"github.com/labplatform/labplatform/services/billsplit/internal/split"
)

// before is the content of before_values in addition to the amounts: what undoing the split restores and, since version
// 1.1, when the original bill was created (epoch milliseconds) and who pays the new one.
type before struct {
	SmartReports []int64     `json:"smart_report_attachments,omitempty"`
	BilledAt     int64       `json:"bill_time,omitempty"`
	Payer        *bill.Payer `json:"new_payer,omitempty"`
	Results      string      `json:"results,omitempty"`
}

// beforeOf returns the JSON document for before_values.
func beforeOf(r split.Record) (map[string]json.RawMessage, error) {
	document := map[string]json.RawMessage{}
	for _, part := range []any{r.Before, before{r.SmartReports, r.BilledAt, &r.NewPayer, r.Results}} {
		text, err := json.Marshal(part)
		if err = errors.Join(err, json.Unmarshal(text, &document)); err != nil {
			return nil, err
		}
	}
	return document, nil
}

// rowDocument is a bill.Row in moved_rows. Its amounts are in paise.
type rowDocument struct {
	ID         int64      `json:"id"`
	LabID      int64      `json:"lab_id"`
	ProfileID  int64      `json:"profile_id,omitempty"`
	Amount     bill.Paise `json:"amount"`
	Concession bill.Paise `json:"concession"`
	CoPay      bill.Paise `json:"co_pay"`
	Deductible bill.Paise `json:"deductible"`
	// PatientPayable is missing in records of version 1.0.
	PatientPayable *bill.Paise `json:"patient_payable,omitempty"`
	Dismissed      bool        `json:"dismissed,omitempty"`
	Refunded       bool        `json:"refunded,omitempty"`
}

func documentOf(r bill.Row) rowDocument {
	return rowDocument{r.ID, r.LabID, r.ProfileID, r.Amount, r.Concession, r.CoPay, r.Deductible, &r.PatientPayable,
		r.Dismissed, r.Refunded}
}

func (d rowDocument) row() bill.Row {
	r := bill.Row{ID: d.ID, LabID: d.LabID, ProfileID: d.ProfileID, Amount: d.Amount, Concession: d.Concession,
		CoPay: d.CoPay, Deductible: d.Deductible, Dismissed: d.Dismissed, Refunded: d.Refunded}
	if d.PatientPayable != nil {
		r.PatientPayable = *d.PatientPayable
	}
	return r
}

func (t *transaction) record(ctx context.Context, r split.Record) error {
	moved := make([]rowDocument, len(r.Rows))
	for i, row := range r.Rows {
		moved[i] = documentOf(row)
	}
	was, err := beforeOf(r)
	if err != nil {
		return mysqldb.Wrap("encode record", err)
	}
	var texts [5]string
	for i, document := range []any{r.Moved, moved, was, r.AfterParent, r.AfterNew} {
		text, err := json.Marshal(document)
		if err != nil {
			return mysqldb.Wrap("encode record", err)
		}
		texts[i] = string(text)
	}
	_, err = t.tx.ExecContext(ctx, "INSERT INTO bill_split_audit (lab_id, parent_bill_id, new_bill_id,"+
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

// split returns the split that created the bill; nil if none did.
func (t *transaction) split(ctx context.Context, newBillID int64) (*family.Record, error) {
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
	err := errors.Join(json.Unmarshal(moved, &r.Moved), json.Unmarshal(was, &original), json.Unmarshal(was, &r.Before),
		json.Unmarshal(parent, &r.AfterParent), json.Unmarshal(made, &r.AfterNew))
	if err != nil {
		return err
	}
	if r.Rows, err = rowsOf(rows); err != nil {
		return err
	}
	r.SmartReports, r.BilledAt, r.Old = original.SmartReports, original.BilledAt, original.Payer == nil
	r.Results = original.Results
	if original.Payer != nil {
		r.NewPayer = *original.Payer
	}
	return nil
}

// rowsOf parses moved_rows. If the column is NULL, the split can be shown but not undone, because its tests differ from
// the recorded ones.
func rowsOf(text []byte) ([]bill.Row, error) {
	if text == nil {
		return nil, nil
	}
	var documents []rowDocument
	if err := json.Unmarshal(text, &documents); err != nil {
		return nil, err
	}
	rows := make([]bill.Row, len(documents))
	for i, d := range documents {
		rows[i] = d.row()
	}
	return rows, nil
}

// undone stores that the split that created the bill was undone.
func (t *transaction) undone(ctx context.Context, newBillID int64, by authn.Actor, at int64) error {
	_, err := t.tx.ExecContext(ctx, "INSERT INTO bill_split_merge (new_bill_id, lab_id, merged_by, merged_by_kind,"+
		" merged_at) VALUES (?,?,?,?,?)", newBillID, t.lab.LabID(), by.ID, string(by.Kind), at)
	return mysqldb.Wrap("record merge", err)
}
