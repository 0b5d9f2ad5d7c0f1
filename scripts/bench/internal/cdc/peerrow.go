package cdc

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/go-sql-driver/mysql"
)

// peerRow is the row that the peer computes for one patient.
type peerRow struct {
	patient        []any // values of peerColumns
	lists          map[string][]any
	orgs, branches []int64
	centres        []int64
	lastBill       any
}

const peerColumns = "lab_id, branch_id, org_id, cc_id, lab_patient_id, full_name, contact, alternate_contact, email, gender, date_of_birth, age, passport_no, national_identity_number, is_deleted"

const deadlock = 1213

// project reads the patient's three tables and writes the row of user_meta: four statements, the last one its own
// commit.
func (b *bench) project(ctx context.Context, id int64) error {
	r := &peerRow{lists: map[string][]any{}}
	for _, read := range []func(context.Context, *sql.DB, int64) error{r.readPatient, r.readBills, r.readReports} {
		if err := read(ctx, b.db, id); err != nil {
			return err
		}
	}
	for {
		err := r.write(ctx, b.db, id)
		var refused *mysql.MySQLError
		if !errors.As(err, &refused) || refused.Number != deadlock {
			return err
		}
	}
}

func (r *peerRow) readPatient(ctx context.Context, db *sql.DB, id int64) error {
	r.patient = make([]any, strings.Count(peerColumns, ",")+1)
	into := make([]any, len(r.patient))
	for i := range into {
		into[i] = &r.patient[i]
	}
	err := db.QueryRowContext(ctx, `SELECT labId_id, branchId, orgId_id, ccId_id, labPatientId, fullName, contact, alternateContact, email, gender,
		CAST(dateOfBirth AS CHAR), age, passportNo, nationalIdentityNumber, isDeleted FROM userDetails WHERE id = ?`, id).
		Scan(into...)
	for i, to := range []*[]int64{nil, &r.branches, &r.orgs, &r.centres} {
		if n, ok := r.patient[i].(int64); ok && to != nil {
			*to = append(*to, n)
		}
	}
	return err
}

func (r *peerRow) readBills(ctx context.Context, db *sql.DB, id int64) error {
	rows, err := db.QueryContext(
		ctx,
		"SELECT id, labBillId, orderNumber, orgId_id, branchId, ccId_id, billTime FROM billing WHERE userDetailsId_id = ? AND labId_id = ? ORDER BY id",
		id,
		r.patient[0],
	)
	if err != nil {
		return err
	}
	defer rows.Close()
	last := time.Time{}
	for rows.Next() {
		var bill, number int64
		var order string
		var org, branch, centre sql.NullInt64
		var at time.Time
		if err := rows.Scan(&bill, &number, &order, &org, &branch, &centre, &at); err != nil {
			return err
		}
		r.add("bill_ids", bill)
		r.add("lab_bill_ids", number)
		r.add("order_numbers", order)
		r.scope(&r.orgs, org)
		r.scope(&r.branches, branch)
		r.scope(&r.centres, centre)
		if at.After(last) {
			last, r.lastBill = at, at.UnixMilli()
		}
	}
	return rows.Err()
}

func (r *peerRow) readReports(ctx context.Context, db *sql.DB, id int64) error {
	rows, err := db.QueryContext(
		ctx,
		"SELECT id, orgId_id, sampleId, manualSampleId, lrfId, sampleRedrawFlag FROM labReportRelation WHERE userDetailsId_id = ? AND labId_id = ? ORDER BY id",
		id,
		r.patient[0],
	)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var report, flag int64
		var org sql.NullInt64
		var sample, manual, form string
		if err := rows.Scan(&report, &org, &sample, &manual, &form, &flag); err != nil {
			return err
		}
		r.add("lab_report_ids", report)
		r.add("sample_ids", sample)
		r.add("manual_sample_ids", manual)
		r.add("lrf_ids", form)
		r.scope(&r.orgs, org)
		if flag == 3 || flag == 4 {
			r.add("rerun_report_ids", report)
		}
	}
	return rows.Err()
}

func (r *peerRow) add(list string, value any) {
	if value != "" && !slices.Contains(r.lists[list], value) {
		r.lists[list] = append(r.lists[list], value)
	}
}

func (r *peerRow) scope(to *[]int64, id sql.NullInt64) {
	if id.Valid && !slices.Contains(*to, id.Int64) {
		*to = append(*to, id.Int64)
	}
}

func (r *peerRow) write(ctx context.Context, db *sql.DB, id int64) error {
	columns, values := "user_id, "+peerColumns, append([]any{id}, r.patient...)
	for column, list := range map[string]any{"bill_ids": r.lists["bill_ids"], "lab_bill_ids": r.lists["lab_bill_ids"],
		"order_numbers":  r.lists["order_numbers"],
		"lab_report_ids": r.lists["lab_report_ids"], "sample_ids": r.lists["sample_ids"],
		"manual_sample_ids": r.lists["manual_sample_ids"],
		"lrf_ids":           r.lists["lrf_ids"], "rerun_report_ids": r.lists["rerun_report_ids"],
		"org_ids": r.orgs, "branch_ids": r.branches, "cc_ids": r.centres} {
		text, err := json.Marshal(list)
		if err != nil {
			return err
		}
		columns += ", " + column
		if string(text) == "null" {
			values = append(values, nil)
		} else {
			values = append(values, string(text))
		}
	}
	now := time.Now()
	columns += ", last_bill_time, rev, updated_at"
	values = append(values, r.lastBill, now.UnixMicro(), now.UnixMilli())
	var updates []string
	for column := range strings.SplitSeq(columns, ", ") {
		updates = append(updates, column+"=VALUES("+column+")")
	}
	_, err := db.ExecContext(
		ctx,
		fmt.Sprintf("INSERT INTO user_meta (%s) VALUES (?%s) ON DUPLICATE KEY UPDATE %s", columns,
			strings.Repeat(",?", len(values)-1), strings.Join(updates, ", ")),
		values...)
	return err
}
