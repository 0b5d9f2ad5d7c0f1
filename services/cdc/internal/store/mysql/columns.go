package mysql

import (
	"database/sql"
	"fmt"

	"github.com/labplatform/labplatform/services/cdc/internal/projection"
)

// columnKind distinguishes the columns of the first migration of user_meta from those of the person, added later.
type columnKind bool

const (
	first  columnKind = false
	person columnKind = true
)

// column maps one column of user_meta to a field of a row. All statements on user_meta are built from the list of
// columns.
type column struct {
	name  string
	kind  columnKind
	value func(*projection.Row) any // returns the argument for a write
	into  func(*projection.Row) any // returns the destination of a read: a pointer or sql.Scanner
}

func columns() []column {
	return []column{
		plain("user_id", first, func(r *projection.Row) *int64 { return &r.UserID }),
		plain("lab_id", first, func(r *projection.Row) *int64 { return &r.LabID }),
		list("former_lab_ids", func(r *projection.Row) *[]int64 { return &r.FormerLabIDs }),
		optional("branch_id", func(r *projection.Row) **int64 { return &r.BranchID }),
		optional("org_id", func(r *projection.Row) **int64 { return &r.OrgID }),
		optional("cc_id", func(r *projection.Row) **int64 { return &r.CCID }),
		plain("lab_patient_id", first, func(r *projection.Row) *string { return &r.LabPatientID }),
		plain("full_name", person, func(r *projection.Row) *string { return &r.FullName }),
		plain("contact", person, func(r *projection.Row) *string { return &r.Contact }),
		plain("alternate_contact", person, func(r *projection.Row) *string { return &r.AlternateContact }),
		plain("email", person, func(r *projection.Row) *string { return &r.Email }),
		plain("gender", person, func(r *projection.Row) *string { return &r.Gender }),
		date("date_of_birth", func(r *projection.Row) *string { return &r.DateOfBirth }),
		plain("age", person, func(r *projection.Row) *string { return &r.Age }),
		plain("passport_no", person, func(r *projection.Row) *string { return &r.PassportNo }),
		plain("national_identity_number", person, func(r *projection.Row) *string { return &r.NationalIdentityNumber }),
		list("bill_ids", func(r *projection.Row) *[]int64 { return &r.BillIDs }),
		list("lab_bill_ids", func(r *projection.Row) *[]int64 { return &r.LabBillIDs }),
		list("order_numbers", func(r *projection.Row) *[]string { return &r.OrderNumbers }),
		list("lab_report_ids", func(r *projection.Row) *[]int64 { return &r.LabReportIDs }),
		list("sample_ids", func(r *projection.Row) *[]string { return &r.SampleIDs }),
		list("manual_sample_ids", func(r *projection.Row) *[]string { return &r.ManualSampleIDs }),
		list("lrf_ids", func(r *projection.Row) *[]string { return &r.LrfIDs }),
		list("org_ids", func(r *projection.Row) *[]int64 { return &r.OrgIDs }),
		list("branch_ids", func(r *projection.Row) *[]int64 { return &r.BranchIDs }),
		list("cc_ids", func(r *projection.Row) *[]int64 { return &r.CCIDs }),
		list("rerun_report_ids", func(r *projection.Row) *[]int64 { return &r.RerunReportIDs }),
		optional("last_bill_time", func(r *projection.Row) **int64 { return &r.LastBillTime }),
		plain("is_deleted", first, func(r *projection.Row) *bool { return &r.IsDeleted }),
		plain("rev", first, func(r *projection.Row) *int64 { return &r.Rev }),
		plain("updated_at", first, func(r *projection.Row) *int64 { return &r.UpdatedAt }),
	}
}

func plain[T int64 | string | bool](name string, kind columnKind, field func(*projection.Row) *T) column {
	return column{
		name,
		kind,
		func(r *projection.Row) any { return *field(r) },
		func(r *projection.Row) any { return field(r) },
	}
}

func optional(name string, field func(*projection.Row) **int64) column {
	value := func(r *projection.Row) any {
		if p := *field(r); p != nil {
			return *p
		}
		return nil
	}
	return column{name, first, value, func(r *projection.Row) any { return field(r) }}
}

func date(name string, field func(*projection.Row) *string) column {
	value := func(r *projection.Row) any {
		if s := *field(r); s != "" {
			return s
		}
		return nil
	}
	return column{name, person, value, func(r *projection.Row) any { return dateScanner{field(r)} }}
}

func list[T int64 | string](name string, field func(*projection.Row) *[]T) column {
	return column{name, first, func(r *projection.Row) any { return encodeList(*field(r)) },
		func(r *projection.Row) any { return listScanner[T]{field(r)} }}
}

// dateScanner reads a DATE cast to CHAR. An invalid date in an old row, such as 2024-02-30 or 0000-00-00, is read as
// unknown and does not fail the statement.
type dateScanner struct{ to *string }

var _ sql.Scanner = (*dateScanner)(nil)

func (d dateScanner) Scan(v any) error {
	var s sql.NullString
	if err := s.Scan(v); err != nil {
		return fmt.Errorf("read date: %w", err)
	}
	*d.to = validDate(s.String)
	return nil
}
