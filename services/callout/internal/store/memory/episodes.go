package memory

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/services/callout/internal/callout"
	"github.com/labplatform/labplatform/services/callout/internal/evaluate"
)

func (s *state) openEpisode(reportID int64) int {
	return slices.IndexFunc(s.episodes, func(e episode) bool { return e.ReportID == reportID && !e.Closed })
}

// last returns the newest episode of each report, of open ones alone if asked.
func (l *locked) last(ids []int64, openOnly bool) map[int64]callout.Episode {
	found := map[int64]callout.Episode{}
	for _, e := range l.s.state.episodes {
		if e.LabID == l.scope.LabID() && slices.Contains(ids, e.ReportID) && (!openOnly || !e.Closed) {
			found[e.ReportID] = e.Episode
		}
	}
	return found
}

func (l *locked) Episodes(_ context.Context, ids []int64) (map[int64]callout.Episode, error) {
	return l.last(ids, true), nil
}

func (l *locked) LastEpisodes(_ context.Context, ids []int64) (map[int64]callout.Episode, error) {
	return l.last(ids, false), nil
}

func (l *locked) OpenEpisode(_ context.Context, e callout.Episode) (int64, error) {
	e.ID = int64(len(l.s.state.episodes) + 1)
	l.s.state.episodes = append(l.s.state.episodes, episode{Episode: e, LabID: l.scope.LabID()})
	return e.ID, l.step()
}

// change changes the open episodes that a condition picks.
func (l *locked) change(picked func(callout.Episode) bool, change func(*episode)) error {
	episodes := slices.Clone(l.s.state.episodes)
	for i := range episodes {
		if e := &episodes[i]; !e.Closed && e.LabID == l.scope.LabID() && picked(e.Episode) {
			change(e)
		}
	}
	l.s.state.episodes = episodes
	return l.step()
}

func (e *episode) end(at time.Time, by string) {
	e.Closed, e.ClosedAt, e.ClosedBy, e.DueAt = true, at, by, time.Time{}
}

func (l *locked) SaveParameters(_ context.Context, saved callout.Episode) error {
	return l.change(func(e callout.Episode) bool { return e.ID == saved.ID },
		func(e *episode) { e.Parameters = saved.Parameters })
}

func (l *locked) SaveDeadline(_ context.Context, saved callout.Episode) error {
	return l.change(func(e callout.Episode) bool { return e.ID == saved.ID },
		func(e *episode) { e.DueAt, e.Level = saved.DueAt, saved.Level })
}

func (l *locked) CloseEpisode(_ context.Context, reportID int64, at time.Time, by string) error {
	return l.change(func(e callout.Episode) bool { return e.ReportID == reportID }, func(e *episode) { e.end(at, by) })
}

func (l *locked) EndGone(_ context.Context, ids []int64, now time.Time) (bills []int64, err error) {
	gone := func(e callout.Episode) bool { return slices.Contains(ids, e.ReportID) && l.s.gone(e.ReportID) }
	return bills, l.change(gone, func(e *episode) {
		bills = append(bills, e.BillID)
		e.end(now, "gone")
	})
}

func (l *locked) MarkNoticesOff(_ context.Context, billID int64) error {
	ofBill := func(e callout.Episode) bool { return l.s.state.reports[e.ReportID].BillID == billID }
	return l.change(ofBill, func(e *episode) { e.NoticesOff = true })
}

func (l *locked) Due(_ context.Context, billID int64, now time.Time) ([]callout.Episode, error) {
	var due []callout.Episode
	for _, e := range l.s.waiting() {
		if r := l.s.state.reports[e.ReportID]; e.LabID == l.scope.LabID() && r.BillID == billID && isDue(e, now) {
			due = append(due, e.Episode)
		}
	}
	return due, nil
}

func isDue(e episode, now time.Time) bool { return e.Overdue(now) || !e.Started() }

func (s *Store) gone(reportID int64) bool {
	r, ok := s.state.reports[reportID]
	return !ok || r.Dismissed
}

// waiting returns the open episodes of reports that wait, by report.
func (s *Store) waiting() []episode {
	var list []episode
	for _, id := range slices.Sorted(maps.Keys(s.state.reports)) {
		if r, at := s.state.reports[id], s.state.openEpisode(id); at >= 0 && !r.Dismissed && r.Status.Open() {
			list = append(list, s.state.episodes[at])
		}
	}
	return list
}

func (s *Store) Deadline(_ context.Context, scope authn.LabScope, billID int64) (callout.Deadline, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.deadline(scope.LabID(), billID, time.Time{}), nil
}

// deadline is the earliest one of a bill after a moment.
func (s *Store) deadline(lab, billID int64, after time.Time) callout.Deadline {
	d := callout.Deadline{LabID: lab, BillID: billID, JobID: s.state.jobs[billID]}
	for _, e := range s.waiting() {
		earlier := e.DueAt.After(after) && (d.DueAt.IsZero() || e.DueAt.Before(d.DueAt))
		if earlier && s.state.reports[e.ReportID].BillID == billID {
			d.DueAt = e.DueAt
		}
	}
	return d
}

func (s *Store) NoteJob(_ context.Context, _ authn.LabScope, billID int64, jobID string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.state.jobs[billID] = jobID
	return nil
}

func (l *locked) Bills(context.Context) (map[int64]callout.Bill, error) {
	bills := map[int64]callout.Bill{}
	for id, b := range l.s.Bills {
		if b.LabID == l.scope.LabID() {
			bills[id] = b.Bill
		}
	}
	return bills, nil
}

func (l *locked) Memories(context.Context, []int64) (map[int64]evaluate.Memory, error) {
	return l.s.state.memories, nil
}

func (l *locked) Remember(_ context.Context, reportID int64, m evaluate.Memory) error {
	l.s.state.memories = maps.Clone(l.s.state.memories)
	l.s.state.memories[reportID] = m
	return l.step()
}

func (l *locked) Unclear(context.Context, []int64) (map[int64]bool, error) {
	marked := map[int64]bool{}
	for id := range l.s.state.unclear {
		marked[id] = true
	}
	return marked, nil
}

func (l *locked) MarkUnclear(_ context.Context, reportID int64, unclear bool, since time.Time) error {
	delete(l.s.state.unclear, reportID)
	if unclear {
		l.s.state.unclear[reportID] = since
	}
	return l.step()
}

// correction is what a report was corrected from, and when everybody was told.
type correction struct {
	was []callout.Parameter
	at  time.Time
}

func (l *locked) NoteCorrection(_ context.Context, reportID int64, was []callout.Parameter, at time.Time) error {
	l.s.state.corrected[reportID] = correction{was, at}
	return l.step()
}

func (l *locked) Evaluated(_ context.Context, ids []int64) error {
	for _, id := range ids {
		l.s.state.evaluated[id] = l.s.state.reports[id].Changed
	}
	return l.step()
}
