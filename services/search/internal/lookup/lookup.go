// Package lookup finds what a printed number names: a patient, bill, order, sample or report, each with its patient, so
// that a person sees whose it is before acting on it.
package lookup

import (
	"context"
	"errors"
	"slices"

	"github.com/labplatform/labplatform/pkg/apperr"
	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/services/search/internal/detail"
	"github.com/labplatform/labplatform/services/search/internal/search"
)

// MaxNamed is how many rows with the number are read.
const MaxNamed = 50

// Reader reads the tables. Every method reads one laboratory.
type Reader interface {
	// Named returns at most MaxNamed+1 rows that have the number.
	Named(ctx context.Context, lab authn.LabScope, n Number) ([]Named, error)
	// OfPatients returns at most MaxNamed+1 reports of these patients that have the number where the tables have no index
	// of it: the manual number of a sample, and the number of a report form.
	OfPatients(ctx context.Context, lab authn.LabScope, userIDs []int64, n Number) ([]Named, error)
	// ByID returns the bill or the report with an id; none if there is none.
	ByID(ctx context.Context, lab authn.LabScope, kind Kind, id int64) ([]Named, error)
	// Bills returns the bills and at most 200 reports of each.
	Bills(ctx context.Context, lab authn.LabScope, ids []int64) ([]BillRow, []ReportRow, error)
}

// Patients reads a patient whom the caller may see.
type Patients interface {
	// Show is ErrNoUser for a patient out of the caller's scope.
	Show(ctx context.Context, p authn.Principal, scope search.Scope, userID int64) (search.Person, error)
}

// Index finds patients by their numbers.
type Index interface {
	Search(ctx context.Context, scope search.Scope, q search.Query, effort search.Effort) (search.Result, error)
}

// Limiter admits reading a patient.
type Limiter interface {
	AdmitRead(ctx context.Context, p authn.Principal, lab authn.LabScope) error
}

// Deps is what the use case works with.
type Deps struct {
	Limiter  Limiter
	Reader   Reader
	Patients Patients
	Index    Index
}

// UseCase looks up numbers.
type UseCase struct{ d Deps }

// New returns the use case.
func New(d Deps) *UseCase { return &UseCase{d: d} }

// Command is what a caller asks for: exactly one of its fields.
type Command struct {
	Number   string
	BillID   int64
	ReportID int64
}

var errOneOf = apperr.InvalidField("number",
	"Give number, bill_id or lab_report_id: exactly one of them, and ids above 0.")

// Find returns what p may see of the things that a number or an id names, and whether it names more than that. Errors:
// Invalid, Forbidden, TooManyRequests, and those of the tables and the index.
func (u *UseCase) Find(ctx context.Context, p authn.Principal, c Command) (matches []Match, more bool, err error) {
	scope, err := search.ScopeOf(p, 0)
	if err != nil {
		return nil, false, err
	}
	named, err := u.parse(c)
	if err != nil {
		return nil, false, err
	}
	if err := u.d.Limiter.AdmitRead(ctx, p, scope.Lab); err != nil {
		return nil, false, err
	}
	rows, err := named(ctx, scope)
	if err != nil {
		return nil, false, err
	}
	more = len(rows) > MaxNamed
	matches, err = u.matches(ctx, p, scope, ownOf(p, rows[:min(len(rows), MaxNamed)]))
	return matches, more, err
}

// parse returns how the rows are read.
func (u *UseCase) parse(c Command) (func(context.Context, search.Scope) ([]Named, error), error) {
	given := 0
	for _, has := range []bool{c.Number != "", c.BillID != 0, c.ReportID != 0} {
		if has {
			given++
		}
	}
	if given != 1 || c.BillID < 0 || c.ReportID < 0 {
		return nil, errOneOf
	}
	if c.Number == "" {
		kind, id := Bill, c.BillID
		if c.ReportID != 0 {
			kind, id = Report, c.ReportID
		}
		return func(ctx context.Context, scope search.Scope) ([]Named, error) {
			return u.d.Reader.ByID(ctx, scope.Lab, kind, id)
		}, nil
	}
	n, err := ParseNumber(c.Number)
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context, scope search.Scope) ([]Named, error) { return u.named(ctx, scope, n) }, nil
}

// named reads the rows with a number, first where the tables have an index of it.
func (u *UseCase) named(ctx context.Context, scope search.Scope, n Number) ([]Named, error) {
	rows, err := u.d.Reader.Named(ctx, scope.Lab, n)
	if err != nil || len(rows) > 0 {
		return rows, err
	}
	q, err := search.NewQuery(search.Request{
		Query: n.Texts[0], Fields: []string{string(search.ManualSampleIDs), string(search.LrfIDs)},
	}, MaxNamed)
	if err != nil {
		return nil, err
	}
	found, err := u.d.Index.Search(ctx, scope, q, search.Least)
	if err != nil || len(found.Hits) == 0 {
		return nil, err
	}
	userIDs := make([]int64, len(found.Hits))
	for i, hit := range found.Hits {
		userIDs[i] = hit.UserID
	}
	return u.d.Reader.OfPatients(ctx, scope.Lab, userIDs, n)
}

// ownOf leaves out what is on bills of other doctors, for a login that sees its own bills only.
func ownOf(p authn.Principal, rows []Named) []Named {
	doctorID, referring := p.ReferringDoctor()
	if !referring {
		return rows
	}
	return slices.DeleteFunc(rows, func(n Named) bool { return n.BillID != 0 && n.DoctorID != doctorID })
}

// matches adds patients, bills and reports, and leaves out what belongs to patients whom p may not see.
func (u *UseCase) matches(
	ctx context.Context, p authn.Principal, scope search.Scope, rows []Named,
) ([]Match, error) {
	var billIDs []int64
	for _, row := range rows {
		if row.BillID != 0 && !slices.Contains(billIDs, row.BillID) {
			billIDs = append(billIDs, row.BillID)
		}
	}
	bills, reports, err := u.d.Reader.Bills(ctx, scope.Lab, billIDs)
	if err != nil {
		return nil, err
	}
	people := map[int64]*search.Person{}
	var matches []Match
	for _, g := range group(rows) {
		first := g[0]
		person, err := u.person(ctx, p, scope, first.UserID, people)
		if err != nil {
			return nil, err
		}
		if person == nil {
			continue
		}
		m := Match{Kind: first.Kind, Number: first.Number, Patient: *person, Reports: reportsOf(g, reports)}
		if at := slices.IndexFunc(bills, func(b BillRow) bool { return b.ID == first.BillID }); at >= 0 {
			m.Bill = &bills[at]
		}
		matches = append(matches, m)
	}
	return matches, nil
}

// person returns a patient, nil for one whom p may not see. people has the patients that were asked for before.
func (u *UseCase) person(
	ctx context.Context, p authn.Principal, scope search.Scope, id int64, people map[int64]*search.Person,
) (*search.Person, error) {
	if known, asked := people[id]; asked {
		return known, nil
	}
	person, err := u.d.Patients.Show(ctx, p, scope, id)
	switch {
	case errors.Is(err, detail.ErrNoUser):
		people[id] = nil
		return nil, nil
	case err != nil:
		return nil, err
	}
	people[id] = &person
	return &person, nil
}
