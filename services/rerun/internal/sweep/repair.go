package sweep

import (
	"context"
	"slices"
	"time"

	"github.com/labplatform/labplatform/pkg/apperr"
	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/pkg/lab/activitylog"
	"github.com/labplatform/labplatform/services/rerun/internal/rerun"
)

// Facts holds all inputs of the decision about the repair of a report.
type Facts struct {
	rerun.Facts

	Records []rerun.Record
	Values  []rerun.Value
}

// Decision holds the changes of a repair.
type Decision struct {
	Change  rerun.Change
	Writes  rerun.Writes
	Repairs map[string]int // number of repairs by outcome
	Settled []string       // ids of records without anything to repair
	Again   bool           // another pass is needed, to delete what this one archived
}

// repair repairs a report under its lock. It commits what it archives first; a second pass deletes it.
func (l *laboratory) repair(ctx context.Context, reportID int64, before time.Time) error {
	wants := rerun.Wants{Tests: true, Ledger: true, Archived: true}
	for again := true; again; {
		var d Decision
		err := l.d.Reports.Change(ctx, l.scope, reportID, wants, func(f rerun.Facts) (rerun.Change, error) {
			records, err := l.d.Documents.OfReports(ctx, l.scope, []int64{reportID})
			if err != nil {
				return rerun.Change{}, err
			}
			values, err := l.d.Documents.ValuesOfReports(ctx, l.scope, []int64{reportID})
			if err != nil {
				return rerun.Change{}, err
			}
			d = Decide(Facts{f, records, values}, before, l.d.Clock.Now())
			return d.Change, l.d.Documents.Write(ctx, l.scope, d.Writes)
		})
		if err != nil {
			return err
		}
		for outcome, n := range d.Repairs {
			l.d.Counters.Swept(outcome, n)
		}
		for _, id := range d.Settled {
			l.seen[id] = true
		}
		again = d.Again
	}
	return nil
}

// Decide returns the repair of a report. Documents created after before are neither archived nor deleted as
// uncommitted, because the call that wrote them may still be running.
func Decide(f Facts, before, now time.Time) Decision {
	d := Decision{Repairs: map[string]int{}}
	if records, values := f.unarchived(before); len(records)+len(values) > 0 {
		f.archive(&d, records, values, now)
		return d
	}
	f.clear(&d, before)
	f.realign(&d, before)
	kept := slices.DeleteFunc(slices.Clone(f.Values), func(v rerun.Value) bool { return f.Archived[v.ID] })
	if d.Change.Announce = f.Announce(kept, f.Report.Flag.Open(), now); d.Change.Announce != nil {
		d.Repairs[Announced]++
	}
	return d
}

// uncommitted reports whether r is a request whose transaction ended without a commit. Repetitions are valid while a
// rerun is open, with or without a commit marker.
func (f Facts) uncommitted(r rerun.Record, before time.Time) bool {
	return !r.Foreign && r.CreatedAt.Before(before) && r.Type != rerun.ByAnalyser && !f.Ledger.Committed(r.ID) &&
		!f.Archived[r.ID]
}

// unarchived returns the documents of a closed rerun that are not archived.
func (f Facts) unarchived(before time.Time) (records []rerun.Record, values []rerun.Value) {
	over := func(createdAt time.Time, foreign bool) bool {
		return !foreign && createdAt.Before(before) && !f.Report.Flag.Open()
	}
	for _, r := range f.Records {
		if over(r.CreatedAt, r.Foreign) && !f.uncommitted(r, before) && !f.Archived[r.ID] {
			records = append(records, r)
		}
	}
	for _, v := range f.Values {
		if over(v.CreatedAt, v.Foreign) && !f.Archived[v.ID] {
			values = append(values, v)
		}
	}
	return records, values
}

// archive writes log entry 984. Confirms and aborts write entries of their own, so the rerun of these values ended
// without either.
func (f Facts) archive(d *Decision, records []rerun.Record, values []rerun.Value, now time.Time) {
	snapshot := rerun.Archive(records, values)
	snapshot.Old.Flag, snapshot.New.Flag = f.Report.Flag, f.Report.Flag
	d.Change.Entry = &activitylog.Entry{Category: activitylog.RerunFailed,
		Text:  "Documents of an unfinished sample rerun archived",
		Actor: authn.Platform, At: now, Meta: snapshot}
	d.Repairs[Archived], d.Again = len(records)+len(values), true
}

// clear deletes uncommitted requests and archived documents.
func (f Facts) clear(d *Decision, before time.Time) {
	for _, v := range f.Values {
		if f.Archived[v.ID] {
			d.Writes.DeleteValues = append(d.Writes.DeleteValues, v.ID)
			d.Repairs[Deleted]++
		}
	}
	for _, r := range f.Records {
		switch {
		case f.Archived[r.ID]:
			d.Repairs[Deleted]++
		case f.uncommitted(r, before):
			d.Repairs[Uncommitted]++
		default:
			continue
		}
		d.Writes.DeleteRecords = append(d.Writes.DeleteRecords, r.ID)
	}
}

// realign repairs the slot and the flag of an open rerun.
func (f Facts) realign(d *Decision, before time.Time) {
	if !f.Report.Flag.Open() {
		return
	}
	active := false
	for _, r := range f.Records {
		if !f.Archived[r.ID] && !f.uncommitted(r, before) {
			d.Settled = append(d.Settled, r.ID)
			active = active || r.Active
		}
	}
	latest, ok := f.Ledger.Latest()
	i := slices.IndexFunc(f.Records, func(r rerun.Record) bool { return r.ID == latest.RerunID })
	if !ok || i < 0 {
		return
	}
	switch fulfilled := len(f.Records[i].Pending(f.Values)) == 0; {
	case !fulfilled && !active:
		d.Writes.Reopen = append(d.Writes.Reopen, latest.RerunID)
		d.Repairs[Reopened]++
	case fulfilled && f.Report.Flag == rerun.Requested:
		to := rerun.Fulfilled
		d.Change.Flag = &to
		d.Repairs[Completed]++
	}
}

// recache sets or removes the cache entry of a report by its flag, under the lock of the report.
func (l *laboratory) recache(ctx context.Context, reportID int64) {
	err := l.d.Reports.Change(ctx, l.scope, reportID, rerun.Wants{}, func(f rerun.Facts) (rerun.Change, error) {
		return rerun.Change{}, l.d.OpenSet.Set(ctx, l.scope, reportID, f.Report.Flag.Open())
	})
	if apperr.Is(err, apperr.NotFound) { // the report was deleted
		err = l.d.OpenSet.Set(ctx, l.scope, reportID, false)
	}
	if err != nil {
		l.d.Counters.Swept(Failed, 1)
		l.d.Log.Error("rerun cache not repaired", "lab_report_id", reportID, "error", err)
		return
	}
	l.d.Counters.Swept(Cached, 1)
}
