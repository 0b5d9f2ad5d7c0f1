package closing

import (
	"cmp"
	"slices"
	"time"

	"github.com/labplatform/labplatform/pkg/apperr"
	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/pkg/lab/activitylog"
	"github.com/labplatform/labplatform/services/rerun/internal/rerun"
)

// Facts holds all inputs of the decision to end a rerun.
type Facts struct {
	rerun.Facts

	Records []rerun.Record
	Values  []rerun.Value
}

// Confirmation holds the values that a person confirmed.
type Confirmation struct {
	ReportID int64
	Rows     []Row     // not empty
	SeenAt   time.Time // time of the data on the page that the person saw; zero if unknown
	Actor    authn.Actor
}

// Row is one confirmed value. With a nil Order or an empty Result.ParameterName, those of the format are used. A
// Result.ProfileTestID of 0 names no test.
type Row struct {
	rerun.Result
	Order *int
}

// Decision holds the changes that a confirm or an abort makes.
type Decision struct {
	Change   rerun.Change
	Archived rerun.Writes // deletes the archived documents
	Replaced []Replaced   // in the order of the rows
}

// Replaced is a confirmed value with the value that the report had before.
type Replaced struct {
	rerun.Result

	TestName string
	Previous *string // nil if there was no value
}

const (
	// justArrived is the age up to which a value that replaced another one counts as new. A caller that does not state the
	// time of its page may have seen only the replaced value.
	justArrived = time.Minute
	// clockSkew is how far a caller's clock may be ahead.
	clockSkew = time.Minute
)

// ErrValuesArrived is returned for a confirm that was decided on an outdated page.
var ErrValuesArrived = apperr.New(apperr.Conflict, "VALUES_ARRIVED",
	"Values arrived that the page does not show; load the rerun again, then confirm with its as_of as seen_at").
	WithDetails("VALUES_ARRIVED")

// ErrOtherSample is returned for a value that was measured on a previous sample of the report.
var ErrOtherSample = apperr.New(apperr.Conflict, "SAMPLE_CHANGED",
	"A confirmed parameter was measured on another sample than the report has now; measure the present sample, then confirm"+
		" its value, or abort the rerun").WithDetails("SAMPLE_CHANGED")

// Decide returns the effect of a confirm. Each row replaces the value of its own test and index, and no other.
func Decide(f Facts, c Confirmation, now time.Time) (Decision, error) {
	next, err := f.Report.Next(rerun.Confirm)
	if err != nil {
		return Decision{}, err
	}
	f.Tests = f.named()
	tests, err := f.resolve(c.Rows)
	if err != nil {
		return Decision{}, err
	}
	if err := f.fresh(c, tests, now); err != nil {
		return Decision{}, err
	}
	if err := f.ofThisSample(c.Rows, tests); err != nil {
		return Decision{}, err
	}
	d := f.replace(c.Rows, tests)
	d.Change.Evaluate = true
	f.close(&d, next, c.Actor, now, activitylog.RerunValuesConfirmed, "Sample rerun values confirmed")
	return d, nil
}

// DecideAbort returns the effect of an abort.
func DecideAbort(f Facts, actor authn.Actor, now time.Time) (Decision, error) {
	next, err := f.Report.Next(rerun.Abort)
	if err != nil {
		return Decision{}, err
	}
	var d Decision
	f.close(&d, next, actor, now, activitylog.RerunCancelled, "Sample rerun aborted")
	return d, nil
}

// close archives all documents in the log entry and completes the decision with the flag and the messages.
func (f Facts) close(d *Decision, next rerun.Flag, by authn.Actor, at time.Time, c activitylog.Category, text string) {
	s := rerun.Archive(f.Records, f.Values)
	s.Old.Flag, s.New.Flag = f.Report.Flag, next
	if c == activitylog.RerunValuesConfirmed {
		signed := f.Report.Signed
		kept := signed && !d.Change.Unsign
		s.Old.Signed, s.New.Signed = &signed, &kept
		s.Old.Values, s.New.Values = rerun.ArchiveResults(d.Change.Gone), rerun.ArchiveResults(d.Change.Confirmed)
	}
	d.Change.Flag = &next
	d.Change.Entry = &activitylog.Entry{Category: c, Text: text, Actor: by, At: at, Meta: s}
	d.Change.Announce = f.Announce(nil, false, at)
	d.Archived.DeleteRecords, d.Archived.DeleteValues = s.IDs()
}

// named returns the tests with the names in the report and in the received values, because a row may use these names to
// identify its test.
func (f Facts) named() rerun.Tests {
	tests := f.Tests
	for _, r := range f.Results {
		if id, ok := f.Tests.OfResult(r); ok {
			tests = tests.With(id, r.Index, r.Order, r.ParameterName)
		}
	}
	for _, v := range f.Values {
		if id, ok := f.Tests.OfValue(v); ok {
			tests = tests.With(id, v.Index, v.Order, v.ParameterName)
		}
	}
	return tests
}

// resolve returns the test of each row, or an error about the first row whose test cannot be determined.
func (f Facts) resolve(rows []Row) ([]int64, error) {
	type key struct {
		test  int64
		index int
	}
	tests, seen := make([]int64, len(rows)), map[key]bool{}
	for i, row := range rows {
		having := f.Tests.Having(row.Index)
		if len(having) == 0 {
			return nil, refuse(i, "index", "index is not a parameter of this report")
		}
		test, ok := f.Tests.Of(row.ProfileTestID, row.Index, row.ParameterName)
		switch {
		case !ok:
			return nil, refuse(i, "index", "index belongs to several tests of this report; send the profileTestId or the"+
				" parameter_name that GET returns with the value")
		case !slices.Contains(having, test):
			return nil, refuse(i, "profileTestId", "profileTestId is not a test of this report that has the index;"+
				" send the one that GET returns with the value")
		case seen[key{test, row.Index}]:
			return nil, refuse(i, "index", "index is confirmed twice for the same test")
		}
		tests[i], seen[key{test, row.Index}] = test, true
	}
	return tests, nil
}

func refuse(row int, field, message string) error {
	return apperr.InvalidFields(apperr.Field{Index: row, Name: field, Message: message})
}

// fresh rejects a confirm from an outdated page. If the time of the page is unknown, it rejects only confirms of a
// value that has just replaced another one of the same rerun number. The as_of of GET may be in the future, if a value
// was stored while a clock was ahead.
func (f Facts) fresh(c Confirmation, tests []int64, now time.Time) error {
	changed := f.ChangedAt(f.Values)
	switch {
	case c.SeenAt.After(now.Add(clockSkew)) && c.SeenAt.After(changed):
		return apperr.InvalidField("seen_at", "seen_at is in the future; send the as_of that GET returned")
	case !c.SeenAt.IsZero() && changed.After(c.SeenAt):
		return ErrValuesArrived
	case !c.SeenAt.IsZero():
		return nil
	}
	for _, v := range f.Values {
		if len(v.History) > 0 && now.Sub(v.CreatedAt) < justArrived && f.isConfirmed(v, c.Rows, tests) {
			return ErrValuesArrived
		}
	}
	return nil
}

// isConfirmed reports whether one of the rows confirms the parameter of v.
func (f Facts) isConfirmed(v rerun.Value, rows []Row, tests []int64) bool {
	test, known := f.Tests.OfValue(v)
	for i, row := range rows {
		if row.Index == v.Index && (!known || tests[i] == test) {
			return true
		}
	}
	return false
}

// ofThisSample rejects rows whose parameter or value was measured only on previous samples of the report. The sample
// was drawn again because the previous one cannot be trusted or belongs to another person.
func (f Facts) ofThisSample(rows []Row, tests []int64) error {
	for i, row := range rows {
		var parameter, value measured
		for _, v := range f.Values {
			if !f.isConfirmed(v, rows[i:i+1], tests[i:i+1]) {
				continue
			}
			parameter.on(f.Report.IsOfSample(v))
			if v.Value == row.Value {
				value.on(f.Report.IsOfSample(v))
			}
		}
		if parameter.previousOnly() || value.previousOnly() {
			return ErrOtherSample
		}
	}
	return nil
}

// measured reports on which samples something was measured.
type measured struct{ previous, present bool }

func (m *measured) on(present bool) {
	m.present, m.previous = m.present || present, m.previous || !present
}

func (m measured) previousOnly() bool { return m.previous && !m.present }

// replace returns the decision to delete and insert rows. It clears the signature if the report then shows a different
// result.
func (f Facts) replace(rows []Row, tests []int64) (d Decision) {
	differs := false
	for i, row := range rows {
		gone := f.present(tests[i], row.Index)
		result := f.complete(row, tests[i])
		result.ProfileTestID = f.columnOf(tests[i], row.Index, gone)
		d.Change.Gone, d.Change.Confirmed = append(d.Change.Gone, gone...), append(d.Change.Confirmed, result)
		differs = differs || len(gone) != 1 || result.Differs(gone[0])
		replaced := Replaced{Result: result, TestName: f.Tests.Name(tests[i])}
		replaced.ProfileTestID = f.Tests.Naming(tests[i], row.Index)
		if len(gone) > 0 {
			replaced.Previous = &gone[len(gone)-1].Value
		}
		d.Replaced = append(d.Replaced, replaced)
	}
	d.Change.Unsign = f.Report.Signed && differs
	return d
}

// present returns the rows of the report with this test and index.
func (f Facts) present(test int64, index int) (rows []rerun.Result) {
	for _, r := range f.Results {
		if id, ok := f.Tests.OfResult(r); ok && id == test && r.Index == index {
			rows = append(rows, r)
		}
	}
	return rows
}

// complete fills fields that the row omits from the parameter of its test.
func (f Facts) complete(row Row, test int64) rerun.Result {
	result := row.Result
	if p, ok := f.Tests.Parameter(test, row.Index); ok {
		result.Order, result.ParameterName = p.Order, cmp.Or(result.ParameterName, p.Name)
	}
	if row.Order != nil {
		result.Order = *row.Order
	}
	return result
}

// columnOf returns the profileTestId to store. Rows of a report's own test have 0 or its id there. The new row takes
// the value of the row that it replaces, or the id if a row of another test has 0.
func (f Facts) columnOf(test int64, index int, gone []rerun.Result) int64 {
	if test != 0 {
		return test
	}
	if len(gone) > 0 {
		return gone[len(gone)-1].ProfileTestID
	}
	taken := func(r rerun.Result) bool { return r.Index == index && r.ProfileTestID == 0 }
	if slices.ContainsFunc(f.Results, taken) {
		return f.Tests.Own
	}
	return 0
}
