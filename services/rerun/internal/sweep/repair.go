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

// repair judges a report under its lock. What it archives is committed first and deleted by a second pass.
func (l *laboratory) repair(ctx context.Context, reportID int64, before time.Time) error {
	for again := true; again; {
		err := l.d.Reports.Lock(ctx, l.scope, reportID, func(locked Locked) (err error) {
			again, err = l.judge(ctx, locked, before)
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// judge repairs what it may, and archives what no one archived; archived reports that another pass is needed.
func (l *laboratory) judge(ctx context.Context, locked Locked, before time.Time) (archived bool, err error) {
	c, err := l.facts(ctx, l.scope, locked, before)
	if err != nil {
		return false, err
	}
	records, values := c.unarchived()
	if len(records)+len(values) > 0 {
		return true, l.archive(ctx, locked, records, values)
	}
	if err := l.clear(ctx, l.scope, c); err != nil {
		return false, err
	}
	return false, l.realign(ctx, locked, c)
}

// facts is all that is known of one locked report.
type facts struct {
	flag     rerun.Flag
	before   time.Time
	records  []rerun.Record
	values   []rerun.Value
	ledger   rerun.Ledger
	archived map[string]bool
}

func (s *Sweeper) facts(ctx context.Context, scope authn.LabScope, l Locked, before time.Time) (c facts, err error) {
	c.flag, c.before = l.Report().Flag, before
	if c.records, err = s.d.Documents.OfReport(ctx, scope, l.Report().ID); err != nil {
		return c, err
	}
	if c.values, err = s.d.Documents.Values(ctx, scope, l.Report().ID); err != nil {
		return c, err
	}
	if c.ledger, err = l.Ledger(ctx); err != nil {
		return c, err
	}
	c.archived, err = l.Archived(ctx)
	return c, err
}

// uncommitted is a request that never happened: its transaction is over and left no marker. What an instrument
// said on its own counts while a rerun is open, marker or not.
func (c facts) uncommitted(r rerun.Record) bool {
	return !r.Foreign && r.CreatedAt.Before(c.before) && r.Type != rerun.ByAnalyser && !c.ledger.Committed(r.ID) &&
		!c.archived[r.ID]
}

// over is a document of this service whose rerun is closed.
func (c facts) over(createdAt time.Time, foreign bool) bool {
	return !foreign && createdAt.Before(c.before) && !c.flag.Open()
}

// unarchived returns the documents of a closed rerun that no one has archived.
func (c facts) unarchived() (records []rerun.Record, values []rerun.Value) {
	for _, r := range c.records {
		if c.over(r.CreatedAt, r.Foreign) && !c.uncommitted(r) && !c.archived[r.ID] {
			records = append(records, r)
		}
	}
	for _, v := range c.values {
		if c.over(v.CreatedAt, v.Foreign) && !c.archived[v.ID] {
			values = append(values, v)
		}
	}
	return records, values
}

// archive writes entry 984: confirm and abort write theirs with the change, so these values were never decided on.
func (s *Sweeper) archive(ctx context.Context, l Locked, records []rerun.Record, values []rerun.Value) error {
	snapshot := rerun.Archive(records, values)
	snapshot.Old.Flag, snapshot.New.Flag = l.Report().Flag, l.Report().Flag
	_, err := l.Log(ctx, activitylog.Entry{Category: activitylog.RerunFailed,
		Text:  "Documents of an unfinished sample rerun archived",
		Actor: authn.Platform, At: s.d.Clock.Now(), Meta: snapshot})
	s.count(err, Archived, len(records)+len(values))
	return err
}

// clear deletes what never happened and what is archived.
func (s *Sweeper) clear(ctx context.Context, scope authn.LabScope, c facts) error {
	var never, records, values []string
	for _, r := range c.records {
		switch {
		case c.archived[r.ID]:
			records = append(records, r.ID)
		case c.uncommitted(r):
			never = append(never, r.ID)
		}
	}
	for _, v := range c.values {
		if c.archived[v.ID] {
			values = append(values, v.ID)
		}
	}
	if len(values) > 0 {
		if err := s.d.Documents.DeleteValues(ctx, scope, values); err != nil {
			return err
		}
	}
	if len(never)+len(records) > 0 {
		if err := s.d.Documents.Delete(ctx, scope, slices.Concat(never, records)...); err != nil {
			return err
		}
	}
	s.d.Counters.Swept(Deleted, len(records)+len(values))
	s.d.Counters.Swept(Uncommitted, len(never))
	return nil
}

// realign makes flag and slots agree with what is stored, and remembers the records that are in order.
func (l *laboratory) realign(ctx context.Context, locked Locked, c facts) error {
	if !c.flag.Open() {
		return nil
	}
	kept := slices.DeleteFunc(slices.Clone(c.records), func(r rerun.Record) bool {
		return c.archived[r.ID] || c.uncommitted(r)
	})
	if err := l.slot(ctx, locked, c, kept); err != nil {
		return err
	}
	for _, r := range kept {
		l.seen[r.ID] = true
	}
	return nil
}

func (l *laboratory) slot(ctx context.Context, locked Locked, c facts, kept []rerun.Record) error {
	latest, ok := c.ledger.Latest()
	i := slices.IndexFunc(kept, func(r rerun.Record) bool { return r.ID == latest.RerunID })
	if !ok || i < 0 {
		return nil
	}
	record := kept[i]
	active := slices.ContainsFunc(kept, func(r rerun.Record) bool { return r.Active })
	fulfilled := len(record.Pending(c.values)) == 0
	if !fulfilled && !active {
		err := l.d.Documents.Reopen(ctx, l.scope, record.ID)
		l.count(err, Reopened, 1)
		return err
	}
	if !fulfilled || c.flag != rerun.Requested {
		return nil
	}
	err := locked.SetFlag(ctx, rerun.Fulfilled)
	l.count(err, Completed, 1)
	return err
}

// recache makes the entry of a report agree with its flag while no one can change it.
func (l *laboratory) recache(ctx context.Context, reportID int64) {
	err := l.d.Reports.Lock(ctx, l.scope, reportID, func(locked Locked) error {
		return l.d.OpenSet.Set(ctx, l.scope, reportID, locked.Report().Flag.Open())
	})
	if apperr.Is(err, apperr.NotFound) { // of a report that is gone
		err = l.d.OpenSet.Set(ctx, l.scope, reportID, false)
	}
	l.count(err, Cached, 1)
	if err != nil {
		l.d.Counters.Swept(Failed, 1)
		l.d.Log.Error("rerun cache not repaired", "lab_report_id", reportID, "error", err)
	}
}

func (s *Sweeper) count(err error, outcome string, n int) {
	if err == nil {
		s.d.Counters.Swept(outcome, n)
	}
}
