package mysql

import (
	"database/sql"
	"encoding/json"
	"errors"
	"strings"
	"time"

	"github.com/labplatform/labplatform/services/search/internal/detail"
	"github.com/labplatform/labplatform/services/search/internal/search"
)

// row is a patient as stored in the tables.
type row struct {
	detail.Record

	designation, first, middle, last string
	birth                            sql.NullString
	updatedMicros                    int64 // update time of the row in userDetails
	projectedMillis                  int64 // update time of the row in user_meta
}

// person returns the scan targets of personColumns.
func (r *row) person() []any {
	p := &r.Person
	return []any{
		&p.UserID, &p.LabID, &p.BranchID, &p.OrgID, &p.CCID, &p.LabPatientID, &r.designation, &r.first, &r.middle, &r.last,
		&p.FullName, &p.Contact, &p.AlternateContact, &p.Email, &p.Gender, &r.birth, &p.Age, &p.PassportNo,
		&p.NationalIdentityNumber, &r.updatedMicros,
	}
}

// lists returns the scan targets of listColumns.
func (r *row) lists() []any {
	p := &r.Person
	return []any{
		list[string]{&p.OrderNumbers},
		list[int64]{&p.BillIDs},
		list[int64]{&p.LabBillIDs},
		list[int64]{&p.LabReportIDs},
		list[string]{&p.SampleIDs},
		list[string]{&p.ManualSampleIDs},
		list[string]{&p.LrfIDs},
		list[int64]{&r.BranchIDs},
		list[int64]{&r.OrgIDs},
		list[int64]{&r.CCIDs},
		&p.LastBillTime,
		&r.projectedMillis,
	}
}

// record converts the row. The affiliations of the registration are included even if they are not projected yet.
func (r *row) record() detail.Record {
	p := &r.Person
	p.FullName = name(p.FullName, r.designation, r.first, r.middle, r.last)
	if _, err := time.Parse(time.DateOnly, r.birth.String); err == nil {
		p.DateOfBirth = r.birth.String
	}
	p.UpdatedAt = max(time.UnixMicro(r.updatedMicros).UnixMilli(), r.projectedMillis)
	r.Places = search.Places{
		BranchIDs: with(p.BranchID, r.BranchIDs), OrgIDs: with(p.OrgID, r.OrgIDs), CCIDs: with(p.CCID, r.CCIDs),
	}
	return r.Record
}

func with(own *int64, others []int64) []int64 {
	if own == nil {
		return others
	}
	return append(others, *own)
}

// name returns the full name on one line. If there is none, it joins its parts. Change capture does the same for the
// index.
func name(full string, parts ...string) string {
	if words := strings.Fields(full); len(words) > 0 {
		return strings.Join(words, " ")
	}
	return strings.Join(strings.Fields(strings.Join(parts, " ")), " ")
}

// list scans a JSON array. NULL leaves the slice unchanged.
type list[T int64 | string] struct{ to *[]T }

// Scan decodes a JSON list. NULL leaves the list unchanged.
func (l list[T]) Scan(v any) error {
	var raw []byte
	switch v := v.(type) {
	case nil:
		return nil
	case []byte:
		raw = v
	case string:
		raw = []byte(v)
	}
	if err := json.Unmarshal(raw, l.to); err != nil {
		return errors.New("a list of user_meta is no JSON array of its type") // the parser's error quotes the value
	}
	return nil
}

// withoutValue replaces errors of Scan, which quote values of the row. Other errors of the driver do not.
func withoutValue(err error) error {
	if strings.HasPrefix(err.Error(), "sql: Scan error") {
		return errors.New(
			"a column holds what its type should not allow; compare the table with the schema that this service expects")
	}
	return err
}
