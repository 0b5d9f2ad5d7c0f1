// Package worklist reads lists of waiting work page by page, each page with the number of all entries. The page and the
// number come from the same conditions, but from two queries without one snapshot: an entry that is added or finished
// between them is in only one of them.
package worklist

import (
	"context"
	"database/sql"
	"slices"
	"time"

	"github.com/labplatform/labplatform/pkg/apperr"
	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/pkg/lab/clinical"
	"github.com/labplatform/labplatform/pkg/lab/reportformat"
	"github.com/labplatform/labplatform/pkg/lab/sight"
	"github.com/labplatform/labplatform/pkg/mysqldb"
	typev1 "github.com/labplatform/labplatform/proto/gen/lab/type/v1"
)

const (
	usualLimit = 50
	maxLimit   = 200
	// MaxTotal is the largest number of entries that a list counts.
	MaxTotal = 1000
)

// Page selects at most Limit entries with ids below Before; 0 selects from the newest.
type Page struct {
	Limit  int
	Before int64
}

// Asked returns the part of its laboratory's bills that the caller sees, and the requested page. A nil limit means 50,
// a nil before the newest entries. Errors: those of sight.Of, and Invalid.
func Asked(p authn.Principal, limit *int32, before *int64) (s sight.Sight, page Page, err error) {
	lab, err := p.Scope(0)
	if err != nil {
		return s, page, err
	}
	if s, err = sight.Of(p, lab); err != nil {
		return s, page, err
	}
	page, err = pageOf(limit, before)
	return s, page, err
}

func pageOf(limit *int32, before *int64) (Page, error) {
	p := Page{Limit: usualLimit}
	if limit != nil {
		p.Limit = int(*limit)
	}
	if p.Limit < 1 || p.Limit > maxLimit {
		return p, apperr.InvalidField("limit", "limit must be from 1 to 200")
	}
	if before == nil {
		return p, nil
	}
	if p.Before = *before; p.Before <= 0 {
		return p, apperr.InvalidField("before", "before must be a positive integer")
	}
	return p, nil
}

// Query finds the entries of a list. From must join the bill of an entry as b, and may join its patient with
// JoinPatient.
type Query struct {
	Columns     string
	From, Where string
	Args        []any  // arguments of From and Where
	ID          string // column of the entry's id; lists are sorted by it, the newest first
}

// List is a page of a list.
type List[T any] struct {
	Entries []T
	Total   int  // entries of all pages, at most MaxTotal
	More    bool // there are more than MaxTotal
}

// Read returns a page of the entries whose bills s includes.
func Read[T any](
	ctx context.Context, db mysqldb.RowsQuerier, s sight.Sight, q Query, p Page, scan func(mysqldb.Row, *T) error,
) (l List[T], err error) {
	seen, ids := s.Conditions(sight.OfBill)
	from, args := " FROM "+q.From+" WHERE "+q.Where+seen, slices.Clip(slices.Concat(q.Args, ids))
	total, err := mysqldb.Collect(ctx, db, "SELECT COUNT(*) FROM (SELECT 1 AS one"+from+" LIMIT ?) AS counted",
		append(args, MaxTotal+1), func(row mysqldb.Row, n *int) error { return row.Scan(n) })
	if err != nil {
		return l, mysqldb.Wrap("count list", err)
	}
	l.Total, l.More = min(total[0], MaxTotal), total[0] > MaxTotal
	if p.Before != 0 {
		from, args = from+" AND "+q.ID+" < ?", append(args, p.Before)
	}
	l.Entries, err = mysqldb.Collect(ctx, db, "SELECT "+q.Columns+from+" ORDER BY "+q.ID+" DESC LIMIT ?",
		append(args, p.Limit), scan)
	return l, mysqldb.Wrap("read list", err)
}

// PatientColumns are the columns that Patient scans.
const PatientColumns = "IFNULL(u.id, 0), IFNULL(u.fullName, ''), IFNULL(u.gender, ''), " + reportformat.BirthDate + ", IFNULL(u.age, '')," +
	" IFNULL(u.labPatientId, '')"

// JoinPatient returns the join of the patient, whose id and laboratory are in the columns id and lab. A deleted patient
// is not joined.
func JoinPatient(id, lab string) string {
	return " LEFT JOIN userDetails u ON u.id = " + id + " AND u.labId_id = " + lab + " AND u.isDeleted = 0"
}

// PatientTable returns the columns of userDetails that JoinPatient and PatientColumns need.
func PatientTable() []string {
	return []string{"id", "labId_id", "fullName", "gender", "dateOfBirth", "age", "labPatientId", "isDeleted"}
}

// Patient is the patient of an entry; the zero value if the patient was deleted.
type Patient struct {
	ID             int64
	Name, Gender   string
	LabPatientID   string
	birth          sql.NullTime
	ageWrittenDown string
}

// Targets returns the destinations of rows.Scan for PatientColumns.
func (p *Patient) Targets() []any {
	return []any{&p.ID, &p.Name, &p.Gender, &p.birth, &p.ageWrittenDown, &p.LabPatientID}
}

// Message returns the patient for a response, with the age on the given day.
func (p *Patient) Message(day time.Time) *typev1.Patient {
	return &typev1.Patient{
		UserId: p.ID, FullName: p.Name, Gender: p.Gender, LabPatientId: p.LabPatientID,
		Age: clinical.AgeText(day, p.birth.Time, p.ageWrittenDown),
	}
}
