// Package lookup finds what has a printed number: a patient, bill, order, sample or report. Each result includes its
// patient, so that users can check whose it is before they act on it.
package lookup

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/labplatform/labplatform/pkg/apperr"
	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/pkg/distinct"
	"github.com/labplatform/labplatform/pkg/lab/sight"
	"github.com/labplatform/labplatform/services/search/internal/detail"
	"github.com/labplatform/labplatform/services/search/internal/search"
)

// MaxNamed is the maximum number of rows of each kind in a result.
const MaxNamed = 50

// indexPatience is how long to wait for the index if the tables have found the number.
const indexPatience = 300 * time.Millisecond

// Sight defines what a login may see: bills, and the patients in scope by their registration or any bill.
type Sight struct {
	search.Scope

	Bills sight.Sight
}

// Reader reads the tables. Every method returns only what the given login may see in one laboratory.
type Reader interface {
	// Named returns the rows that have the number: the newest of each kind, at most MaxNamed+1.
	Named(ctx context.Context, s Sight, n Number) ([]Named, error)
	// OfPatients returns the reports of these patients whose manual sample number or report form number is n. It takes
	// patients because these columns have no index. It returns the newest of each kind, at most MaxNamed+1.
	OfPatients(ctx context.Context, s Sight, userIDs []int64, n Number) ([]Named, error)
	// ByID returns the bill or report with the id; no row if there is none.
	ByID(ctx context.Context, s Sight, kind Kind, id int64) ([]Named, error)
	Bills(ctx context.Context, s Sight, ids []int64) ([]BillRow, error)
	// Reports returns at most 200 reports of each bill, and the reports with the given ids, each once and ordered by id.
	Reports(ctx context.Context, s Sight, billIDs, ids []int64) ([]ReportRow, error)
}

// Patients reads a patient whom the caller may see.
type Patients interface {
	// Show returns a patient, or ErrNoUser if the patient is outside the caller's scope.
	Show(ctx context.Context, p authn.Principal, scope search.Scope, userID int64) (search.Person, error)
}

// Index finds patients by their numbers.
type Index interface {
	Search(ctx context.Context, scope search.Scope, q search.Query, effort search.Effort) (search.Result, error)
}

// Limiter limits how many patients a caller may read.
type Limiter interface {
	AdmitRead(ctx context.Context, p authn.Principal, lab authn.LabScope) error
}

// Deps are the dependencies of the use case.
type Deps struct {
	Limiter  Limiter
	Reader   Reader
	Patients Patients
	Index    Index
}

// UseCase looks up numbers.
type UseCase struct{ d Deps }

// New returns a use case with the dependencies d.
func New(d Deps) *UseCase { return &UseCase{d: d} }

// Command is a caller's request. Exactly one field is set.
type Command struct {
	Number   string
	BillID   int64
	ReportID int64
}

var errOneOf = apperr.InvalidField("number",
	"Give number, bill_id or lab_report_id: exactly one of them, and ids above 0.")

// Answer holds the matches that the caller may see.
type Answer struct {
	Matches    []Match
	More       bool // there are more matches
	Incomplete bool // the index did not respond, so there may be more matches
}

var errNotAsked = apperr.New(apperr.Unavailable, "SEARCH_UNAVAILABLE",
	"Nothing was found, but not everything could be searched. Try again in a moment.")

// Find returns the matches of a number or an id that p may see. Errors: Invalid, Forbidden, TooManyRequests, and errors
// of the database. If the tables have no match, errors of the index are returned too.
func (u *UseCase) Find(ctx context.Context, p authn.Principal, c Command) (Answer, error) {
	scope, err := search.ScopeOf(p, 0)
	if err != nil {
		return Answer{}, err
	}
	named, err := u.parse(c)
	if err != nil {
		return Answer{}, err
	}
	if err := u.d.Limiter.AdmitRead(ctx, p, scope.Lab); err != nil {
		return Answer{}, err
	}
	bills, err := sight.Of(p, scope.Lab)
	if err != nil {
		return Answer{}, err
	}
	sees := Sight{scope, bills}
	all, err := named(ctx, sees)
	if err != nil {
		return Answer{}, err
	}
	rows, more := newest(all.rows)
	matches, err := u.matches(ctx, p, sees, rows)
	if err == nil && len(matches) == 0 {
		err = all.missing
	}
	if err != nil {
		return Answer{}, err
	}
	return Answer{Matches: matches, More: more || all.more, Incomplete: all.missing != nil}, nil
}

// found holds the rows that have a number.
type found struct {
	rows    []Named
	more    bool
	missing error // error of the index if its results are missing or incomplete
}

type reading func(context.Context, Sight) (found, error)

// parse checks the command and returns the function that reads its rows.
func (u *UseCase) parse(c Command) (reading, error) {
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
		return func(ctx context.Context, s Sight) (found, error) {
			rows, err := u.d.Reader.ByID(ctx, s, kind, id)
			return found{rows: rows}, err
		}, nil
	}
	n, err := ParseNumber(c.Number)
	if err != nil {
		return nil, err
	}
	q, err := search.NewQuery(search.Request{
		Query: n.Texts[0], Fields: []string{string(search.ManualSampleIDs), string(search.LrfIDs)},
	}, MaxNamed)
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context, s Sight) (found, error) { return u.named(ctx, s, n, q) }, nil
}

type indexed struct {
	search.Result
	err error
}

// named returns the rows that have a number. It queries the columns with a database index and, concurrently, the search
// index for the others.
func (u *UseCase) named(ctx context.Context, s Sight, n Number, q search.Query) (found, error) {
	asking, cancel := context.WithCancel(ctx)
	defer cancel()
	said := make(chan indexed, 1)
	go func() { said <- u.ask(asking, s.Scope, q) }()
	patience := time.NewTimer(indexPatience)
	defer patience.Stop()
	rows, err := u.d.Reader.Named(ctx, s, n)
	if err != nil {
		return found{}, err
	}
	late := patience.C
	if len(rows) == 0 { // the tables have no match, so wait for the index
		late = nil
	}
	select {
	case i := <-said:
		return u.unite(ctx, s, n, rows, i)
	case <-late:
		return found{rows: rows, missing: errNotAsked}, nil
	}
}

// ask searches the index. It converts a panic to an error, because interceptors do not cover this goroutine.
func (u *UseCase) ask(ctx context.Context, scope search.Scope, q search.Query) (i indexed) {
	defer func() {
		if recover() != nil {
			i.err = errors.New("the index panicked")
		}
	}()
	i.Result, i.err = u.d.Index.Search(ctx, scope, q, search.Least)
	return i
}

// unite adds the reports of the patients found by the index.
func (u *UseCase) unite(ctx context.Context, s Sight, n Number, rows []Named, i indexed) (found, error) {
	all := found{rows: rows, more: i.Total > int64(len(i.Hits)), missing: i.err}
	if i.Partial {
		all.missing = errNotAsked
	}
	if len(i.Hits) == 0 {
		return all, nil
	}
	userIDs := make([]int64, len(i.Hits))
	for at, hit := range i.Hits {
		userIDs[at] = hit.UserID
	}
	others, err := u.d.Reader.OfPatients(ctx, s, userIDs, n)
	all.rows = append(all.rows, others...)
	return all, err
}

// matches adds patients, bills and reports to the rows, and omits rows of patients whom p may not see.
func (u *UseCase) matches(ctx context.Context, p authn.Principal, s Sight, rows []Named) ([]Match, error) {
	bills, reports, err := u.details(ctx, s, rows)
	if err != nil {
		return nil, err
	}
	people := map[int64]*search.Person{}
	var matches []Match
	for _, g := range group(rows) {
		first := g[0]
		person, err := u.person(ctx, p, s.Scope, first.UserID, people)
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

// details reads the bills of the rows, and the reports that the rows refer to.
func (u *UseCase) details(ctx context.Context, s Sight, rows []Named) ([]BillRow, []ReportRow, error) {
	var billIDs, whole, reportIDs []int64
	for _, row := range rows {
		switch {
		case row.ReportID != 0:
			reportIDs = append(reportIDs, row.ReportID)
		case row.BillID != 0:
			whole = append(whole, row.BillID)
		}
		if row.BillID != 0 {
			billIDs = append(billIDs, row.BillID)
		}
	}
	bills, err := u.d.Reader.Bills(ctx, s, distinct.Of(billIDs))
	if err != nil {
		return nil, nil, err
	}
	reports, err := u.d.Reader.Reports(ctx, s, distinct.Of(whole), distinct.Of(reportIDs))
	return bills, reports, err
}

// person returns a patient, or nil if p may not see the patient. people caches the results.
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
