// Package materialize recomputes the rows of user_meta after changes of source rows. A change only identifies the
// patients to recompute. Their rows are computed from the sources, under a lock that is taken before the sources are
// read. Order and repetition of changes therefore do not matter: the last writer has read the newest sources.
package materialize

import (
	"cmp"
	"fmt"
	"slices"
	"time"
)

// Target is a patient whose row has to be recomputed.
type Target struct {
	UserID int64
	Seen   []Seen // source rows in the events; the computation is repeated until they are visible in the sources
	// SourceTime is the commit time of the newest change in epoch milliseconds; 0 if unknown.
	SourceTime int64
	// Force writes the row even if it is unchanged, with a revision above that of IndexVersion. This corrects a wrong
	// document of a correct row.
	Force        bool
	IndexVersion int64
}

// Seen is the state of a source row in an event. An event can arrive before its row is readable.
type Seen struct {
	Table     string
	RowID     int64
	UpdatedOn time.Time
	Gone      bool // the row was deleted; UpdatedOn is from its last state
}

// Summary is the result of one computation.
type Summary struct {
	Written int
	Equal   int               // rows that were equal to the stored ones
	Capped  int               // written rows with a list at its limit
	Early   []Target          // targets whose sources did not contain the rows in Seen
	Poison  map[int64]*Poison // patients whose row the database rejects
}

func (s *Summary) add(o Summary) {
	s.Written += o.Written
	s.Equal += o.Equal
	s.Capped += o.Capped
	s.Early = append(s.Early, o.Early...)
	for id, p := range o.Poison {
		if s.Poison == nil {
			s.Poison = map[int64]*Poison{}
		}
		s.Poison[id] = p
	}
}

// Poison is the permanent rejection of a row, such as for a value that does not fit its column. Err names the column,
// but never contains the value.
type Poison struct {
	Reason string // a fixed lower-case word for metrics and headers
	Err    error
}

func (p *Poison) Error() string { return fmt.Sprintf("%s: %v", p.Reason, p.Err) }

func (p *Poison) Unwrap() error { return p.Err }

// merge returns one target per patient. They are ordered by id, which is the order of locking.
func merge(targets []Target) []Target {
	byUser := make(map[int64]*Target, len(targets))
	for _, t := range targets {
		m, ok := byUser[t.UserID]
		if !ok {
			t.Seen = slices.Clone(t.Seen)
			byUser[t.UserID] = &t
			continue
		}
		m.Seen = append(m.Seen, t.Seen...)
		m.SourceTime = max(m.SourceTime, t.SourceTime)
		m.IndexVersion = max(m.IndexVersion, t.IndexVersion)
		m.Force = m.Force || t.Force
	}
	merged := make([]Target, 0, len(byUser))
	for _, m := range byUser {
		m.Seen = lastSeen(m.Seen)
		merged = append(merged, *m)
	}
	slices.SortFunc(merged, func(a, b Target) int { return cmp.Compare(a.UserID, b.UserID) })
	return merged
}

// lastSeen returns the last state of each source row.
func lastSeen(all []Seen) []Seen {
	type row struct {
		table string
		id    int64
	}
	at := make(map[row]int, len(all))
	var kept []Seen
	for _, s := range all {
		if i, again := at[row{s.Table, s.RowID}]; again {
			kept[i] = s
			continue
		}
		at[row{s.Table, s.RowID}] = len(kept)
		kept = append(kept, s)
	}
	return kept
}
