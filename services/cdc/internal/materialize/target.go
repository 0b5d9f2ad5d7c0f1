// Package materialize owns the way from a change of a source row to the patient's row in user_meta. A change only
// names the patients whom it concerns; their rows are computed again from the sources, under a lock that is taken
// before the sources are read. So neither order nor repetition of the changes matters, and the last writer has read
// the newest sources.
package materialize

import (
	"cmp"
	"fmt"
	"slices"
	"time"
)

// Target is one patient whose row has to be computed again.
type Target struct {
	UserID int64
	Seen   []Seen // what the events showed; the computation is repeated while the sources lag behind it
	// SourceTime is when the newest of the changes was committed, epoch milliseconds; 0 when no one knows.
	SourceTime int64
	// Force writes the row also when nothing differs, with a revision above the document of IndexVersion: what
	// fixes a wrong index under a right row.
	Force        bool
	IndexVersion int64
}

// Seen is a source row as an event showed it. An event can arrive before its row is readable.
type Seen struct {
	Table     string
	RowID     int64
	UpdatedOn time.Time
	Gone      bool // the row was deleted; UpdatedOn is of its last state
}

// Summary is what one computation did, by patient.
type Summary struct {
	Written int
	Equal   int               // nothing to write
	Capped  int               // rows written with a list at its limit
	Early   []Target          // computed from sources that lag behind what was seen
	Poison  map[int64]*Poison // whose row the database refuses
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

// Poison is a refusal that concerns the row itself, now and for ever: a value that its column cannot hold. Err names
// the column, never the value.
type Poison struct {
	Reason string // a fixed lower-case word for metrics and headers
	Err    error
}

// Error returns the reason and the cause.
func (p *Poison) Error() string { return fmt.Sprintf("%s: %v", p.Reason, p.Err) }

// Unwrap returns the cause.
func (p *Poison) Unwrap() error { return p.Err }

// merge returns one target a patient in the order of their ids, in which their rows are locked.
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

// lastSeen keeps the last sight of each source row.
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
