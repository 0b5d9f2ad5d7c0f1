// Package oracletest computes the expected content of user_meta and the index from the three source tables, with code
// that shares nothing with the service. It reads whole tables into memory and is slow; it must remain obviously
// correct. stored.go reads the actual content of user_meta.
package oracletest

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Document is the expected index document of one living patient, by field, as encoding/json decodes a document. Empty
// texts and lists are left out. Lists contain texts and are sorted, because their order is irrelevant to a search. The
// fields rev, updated_at and former_lab_ids and the forms of pkg/lab/userindex are left out, because the source tables
// do not contain them.
type Document map[string]any

// Documents holds documents by laboratory and patient.
type Documents map[int64]map[int64]Document

const maxEntries = 5000

// Expected computes the documents of all laboratories. Deleted patients have none.
func Expected(ctx context.Context, db *sql.DB) (Documents, error) {
	patients, err := table(ctx, db, "SELECT * FROM userDetails ORDER BY id")
	if err != nil {
		return nil, err
	}
	bills, err := table(ctx, db, "SELECT * FROM billing ORDER BY id")
	if err != nil {
		return nil, err
	}
	reports, err := table(ctx, db, "SELECT * FROM labReportRelation ORDER BY id")
	if err != nil {
		return nil, err
	}
	billsOf, reportsOf := byPatient(bills), byPatient(reports)
	documents := Documents{}
	for _, p := range patients {
		if p.number("isDeleted") != 0 {
			continue
		}
		lab, id := p.number("labId_id"), p.number("id")
		if documents[lab] == nil {
			documents[lab] = map[int64]Document{}
		}
		documents[lab][id] = document(p, inLab(billsOf[id], lab), inLab(reportsOf[id], lab))
	}
	return documents, nil
}

func document(p row, bills, reports []row) Document {
	d := Document{"user_id": float64(p.number("id")), "lab_id": float64(p.number("labId_id")), "is_deleted": false}
	d.number("branch_id", p["branchId"])
	d.number("org_id", p["orgId_id"])
	d.number("cc_id", p["ccId_id"])
	d.text("lab_patient_id", p.text("labPatientId"))
	d.text("full_name", fullName(p))
	d.text("contact", digits(p.text("contact")))
	d.text("alternate_contact", digits(p.text("alternateContact")))
	d.text("email", p.text("email"))
	d.text("gender", p.text("gender"))
	if birth, ok := p["dateOfBirth"].(time.Time); ok && !birth.IsZero() {
		d.text("date_of_birth", birth.Format("2006-01-02"))
	}
	d.text("age", p.text("age"))
	d.text("passport_no", p.text("passportNo"))
	d.text("national_identity_number", p.text("nationalIdentityNumber"))
	d.list("bill_ids", values(bills, "id"))
	d.list("lab_bill_ids", values(bills, "labBillId"))
	d.list("order_numbers", upper(values(bills, "orderNumber")))
	d.list("lab_report_ids", values(reports, "id"))
	d.list("sample_ids", upper(values(reports, "sampleId")))
	d.list("manual_sample_ids", upper(values(reports, "manualSampleId")))
	d.list("lrf_ids", values(reports, "lrfId"))
	d.list("org_ids", slices.Concat(values([]row{p}, "orgId_id"), values(bills, "orgId_id"), values(reports, "orgId_id")))
	d.list("branch_ids", slices.Concat(values([]row{p}, "branchId"), values(bills, "branchId")))
	d.list("cc_ids", slices.Concat(values([]row{p}, "ccId_id"), values(bills, "ccId_id")))
	d.list("rerun_report_ids", values(openReruns(reports), "id"))
	for _, b := range bills {
		at := float64(b["billTime"].(time.Time).UnixMilli())
		if last, ok := d["last_bill_time"].(float64); !ok || at > last {
			d["last_bill_time"] = at
		}
	}
	return d
}

func fullName(p row) string {
	name := strings.Join(strings.Fields(p.text("fullName")), " ")
	if name == "" {
		parts := p.text("designation") + " " + p.text("firstName") + " " + p.text("middleName") + " " + p.text("lastName")
		name = strings.Join(strings.Fields(parts), " ")
	}
	if runes := []rune(name); len(runes) > 400 {
		name = string(runes[:400])
	}
	return name
}

func openReruns(reports []row) []row {
	var open []row
	for _, r := range reports {
		if flag := r.number("sampleRedrawFlag"); flag == 3 || flag == 4 {
			open = append(open, r)
		}
	}
	return open
}

func (d Document) text(field, value string) {
	if value != "" {
		d[field] = value
	}
}

func (d Document) number(field string, value any) {
	if value != nil {
		d[field] = float64(row{"": value}.number(""))
	}
}

// list keeps the newest distinct values: the last maxEntries by their last occurrence.
func (d Document) list(field string, all []string) {
	var kept []string
	for i := len(all) - 1; i >= 0 && len(kept) < maxEntries; i-- {
		if !slices.Contains(kept, all[i]) {
			kept = append(kept, all[i])
		}
	}
	if len(kept) > 0 {
		slices.Sort(kept)
		d[field] = kept
	}
}

func values(rows []row, column string) []string {
	var list []string
	for _, r := range rows {
		if v := r.text(column); v != "" && v != "0" {
			list = append(list, v)
		}
	}
	return list
}

func upper(list []string) []string {
	for i := range list {
		list[i] = strings.ToUpper(list[i])
	}
	return list
}

func digits(s string) string {
	var kept strings.Builder
	for _, r := range s {
		if r >= '0' && r <= '9' {
			kept.WriteRune(r)
		}
	}
	return kept.String()
}

// row is one row of a table by column; texts and numbers are as the driver returns them.
type row map[string]any

func (r row) text(column string) string {
	switch v := r[column].(type) {
	case nil:
		return ""
	case []byte:
		return string(v)
	default:
		return fmt.Sprint(v)
	}
}

func (r row) number(column string) int64 {
	n, _ := strconv.ParseInt(r.text(column), 10, 64)
	return n
}

func byPatient(rows []row) map[int64][]row {
	of := map[int64][]row{}
	for _, r := range rows {
		id := r.number("userDetailsId_id")
		of[id] = append(of[id], r)
	}
	return of
}

func inLab(rows []row, lab int64) []row {
	var kept []row
	for _, r := range rows {
		if r.number("labId_id") == lab {
			kept = append(kept, r)
		}
	}
	return kept
}

func table(ctx context.Context, db *sql.DB, query string) ([]row, error) {
	rows, err := db.QueryContext(ctx, query)
	if err != nil {
		return nil, fmt.Errorf("oracle: %w", err)
	}
	defer rows.Close()
	names, err := rows.Columns()
	if err != nil {
		return nil, fmt.Errorf("oracle: %w", err)
	}
	var list []row
	for rows.Next() {
		cells, pointers := make([]any, len(names)), make([]any, len(names))
		for i := range cells {
			pointers[i] = &cells[i]
		}
		if err := rows.Scan(pointers...); err != nil {
			return nil, fmt.Errorf("oracle: %w", err)
		}
		r := row{}
		for i, name := range names {
			r[name] = cells[i]
		}
		list = append(list, r)
	}
	return list, rows.Err()
}
