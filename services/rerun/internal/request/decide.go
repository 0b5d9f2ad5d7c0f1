package request

import (
	"slices"
	"time"

	"github.com/labplatform/labplatform/pkg/apperr"
	"github.com/labplatform/labplatform/pkg/lab/activitylog"
	"github.com/labplatform/labplatform/services/rerun/internal/rerun"
)

// Facts holds all inputs of a decision about a request.
type Facts struct {
	rerun.Facts

	Records []rerun.Record
	Values  []rerun.Value
}

// Decision holds the changes that a request makes.
type Decision struct {
	Record    rerun.Record
	Abandoned []string // ids of deleted records whose transaction did not commit
	Writes    rerun.Writes
	Change    rerun.Change
}

// marker is the meta of log entry 981, which proves that the document was committed.
type marker struct {
	RerunID     string     `json:"rerun_id"`
	RerunNumber int        `json:"rerun_number"`
	Type        rerun.Type `json:"type"`
	Requested   []int      `json:"requested_parameters"`
	activitylog.Change[flagSnapshot]
}

type flagSnapshot struct {
	Flag rerun.Flag `json:"sampleRedrawFlag"`
}

// Decide returns the effect of a request. recordID is the id of its record.
func Decide(f Facts, c Command, recordID string, now time.Time) (d Decision, err error) {
	next, err := f.Report.Next(rerun.Request)
	if err != nil {
		return d, err
	}
	names, err := f.names(c)
	if err != nil {
		return d, err
	}
	kept, values := f.tidy(&d)
	number, err := number(c, f.Report.Flag, kept, values)
	if err != nil {
		return d, err
	}
	d.Record = rerun.Record{
		ID: recordID, LabID: f.Report.LabID, ReportID: c.ReportID, Type: c.Type, Number: number, Requested: c.Requested,
		ParameterNames: names, Active: true, SampleID: c.SampleID,
		CreatedBy: c.Actor.ID, CreatedByKind: string(c.Actor.Kind), UpdatedBy: c.Actor.ID, CreatedAt: now, UpdatedAt: now,
	}
	d.Writes.Record = &d.Record
	d.Change.Flag = &next
	d.Change.Announce = f.Announce(values, true, now)
	d.Change.Entry = &activitylog.Entry{
		Category: activitylog.RerunRequested, Text: string(c.Type) + " sample rerun requested", Actor: c.Actor, At: now,
		Meta: marker{RerunID: recordID, RerunNumber: number, Type: c.Type, Requested: c.Requested,
			Change: activitylog.Change[flagSnapshot]{Old: flagSnapshot{f.Report.Flag}, New: flagSnapshot{next}}},
	}
	return d, nil
}

// names checks that every requested index is a parameter of the report, and returns the names to store: the caller's,
// or those of the formats.
func (f Facts) names(c Command) ([]string, error) {
	names := make([]string, 0, len(c.Requested))
	for _, index := range c.Requested {
		i := slices.IndexFunc(f.Tests.Parameters, func(p rerun.Parameter) bool { return p.Index == index })
		if i < 0 {
			return nil, apperr.InvalidField("requested_parameters",
				"requested_parameters names an index that is not a parameter of this report")
		}
		names = append(names, f.Tests.Parameters[i].Name)
	}
	if len(c.ParameterNames) > 0 {
		return c.ParameterNames, nil
	}
	return names, nil
}

// tidy deletes documents that would conflict with the new record: documents that a closed rerun has archived but not
// deleted yet, and requests without a commit marker, whose transaction must have ended because this one holds the lock.
// It returns the remaining documents. The latest request gives up the open slot; after the end of a rerun, all records
// give up both slots. Repetitions without a marker are kept, because they hold values, until a confirm archives them.
// Records of other programs have no marker and are kept.
func (f Facts) tidy(d *Decision) (kept []rerun.Record, values []rerun.Value) {
	open := f.Report.Flag.Open()
	for _, v := range f.Values {
		if !open && f.Archived[v.ID] {
			d.Writes.DeleteValues = append(d.Writes.DeleteValues, v.ID)
		} else {
			values = append(values, v)
		}
	}
	for _, r := range f.Records {
		archived := !open && f.Archived[r.ID]
		abandoned := !f.Ledger.Committed(r.ID) && r.Type != rerun.ByAnalyser && !r.Foreign
		switch {
		case archived:
			d.Writes.DeleteRecords = append(d.Writes.DeleteRecords, r.ID)
			continue
		case abandoned:
			d.Writes.DeleteRecords = append(d.Writes.DeleteRecords, r.ID)
			d.Abandoned = append(d.Abandoned, r.ID)
			continue
		case !open:
			d.Writes.Retire = append(d.Writes.Retire, r.ID)
		case r.Active:
			d.Writes.Close = append(d.Writes.Close, r.ID)
		}
		kept = append(kept, r)
	}
	return kept, values
}

// number returns the number of the new record. It is above every existing one, so that values of two repetitions are
// never mixed. A second automatic request of the same rerun is rejected. The documented body of an automatic request
// always has number 1, even after an instrument's own repetition, so there it is only a minimum.
func number(c Command, flag rerun.Flag, earlier []rerun.Record, values []rerun.Value) (int, error) {
	isAuto := func(r rerun.Record) bool { return r.Type == rerun.Auto }
	if flag.Open() && c.Type == rerun.Auto && slices.ContainsFunc(earlier, isAuto) {
		return 0, rerun.ErrAutoExists
	}
	highest := rerun.HighestNumber(earlier)
	for _, v := range values { // includes values of a closed rerun that are not deleted yet
		highest = max(highest, v.Number)
	}
	if c.Number == 0 || c.Type == rerun.Auto {
		return max(c.Number, highest+1), nil
	}
	if c.Number <= highest {
		return 0, apperr.Newf(apperr.Conflict, "RERUN_NUMBER_IN_USE",
			"rerun_number must be greater than %d, the highest of this report", highest)
	}
	return c.Number, nil
}
