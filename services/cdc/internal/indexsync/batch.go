package indexsync

import (
	"github.com/labplatform/labplatform/services/cdc/internal/change"
	"github.com/labplatform/labplatform/services/cdc/internal/document"
	"github.com/labplatform/labplatform/services/cdc/internal/envelope"
	"github.com/labplatform/labplatform/services/cdc/internal/outcome"
	"github.com/labplatform/labplatform/services/cdc/internal/projection"
)

// batch holds the patients to write in one call of Apply, and the results of its records.
type batch struct {
	results   []outcome.Result // records without an effect get their result immediately, the others in finish
	users     []*user          // patients in the order of their first record
	truncated bool
}

// user is a patient in a batch, with the newest of the patient's records.
type user struct {
	row    projection.Row // row of the newest record
	gone   bool           // the newest record is a deletion
	record int            // index of the newest record, which gets the result of the operations
	routes []int64        // laboratories of the patient in all records of the batch
	ops    [2]int         // range of the patient's operations; the end is exclusive
}

func newBatch(records []change.Record) *batch {
	b := &batch{results: make([]outcome.Result, len(records))}
	byID := map[int64]*user{}
	for i, record := range records {
		row, gone, result := b.read(record)
		if result != nil {
			b.results[i] = *result
			continue
		}
		b.results[i] = outcome.Result{Kind: outcome.Coalesced}
		u := byID[row.UserID]
		if u == nil {
			u = &user{record: -1}
			byID[row.UserID] = u
			b.users = append(b.users, u)
		}
		u.see(i, row, gone)
	}
	return b
}

// see adds a record. The newest record is the one with the highest rev and not necessarily the last one, because older
// records may follow after a rewind.
func (u *user) see(record int, row projection.Row, gone bool) {
	u.routes = append(append(u.routes, row.LabID), row.FormerLabIDs...)
	newer := row.Rev > u.row.Rev || (row.Rev == u.row.Rev && (gone || !u.gone))
	if u.record < 0 || newer {
		u.record, u.row, u.gone = record, row, gone
	}
}

// read returns the row of a record and whether it was deleted. For a record without an effect it returns the result.
func (b *batch) read(record change.Record) (row projection.Row, gone bool, result *outcome.Result) {
	c, err := envelope.Decode(record)
	if err != nil {
		return row, false, died(err)
	}
	image := c.After
	switch {
	case c.Tombstone:
		return row, false, skipped("tombstone")
	case c.Op == change.Truncate:
		b.truncated = true
		return row, false, skipped("truncate")
	case c.Op == change.Delete && c.Before == nil:
		return row, false, died(errNoBefore)
	case c.Op == change.Delete:
		image, gone = c.Before, true
	case c.Op != change.Read && c.Op != change.Create && c.Op != change.Update:
		return row, false, skipped("unknown_op")
	}
	if row, err = envelope.UserMeta(image); err != nil {
		return row, false, died(err)
	}
	if row.Rev == 0 {
		return row, false, skipped("stub")
	}
	return row, gone, nil
}

var errNoBefore = &envelope.Malformed{
	Part: "before",
	What: "is missing: no one knows where the deleted row was indexed; set binlog_row_image=FULL",
}

func died(err error) *outcome.Result {
	result := outcome.Died("decode", "malformed", err)
	return &result
}

func skipped(reason string) *outcome.Result {
	result := outcome.Skip(reason)
	return &result
}

// operations returns the index operations that apply the batch, and stores each patient's range of them.
func (b *batch) operations(maker *document.Maker) []document.Op {
	var all []document.Op
	for _, u := range b.users {
		ops := maker.Write(&u.row, u.routes...)
		if u.gone {
			ops = maker.Remove(&u.row, u.routes...)
		}
		u.ops = [2]int{len(all), len(all) + len(ops)}
		all = append(all, ops...)
	}
	return all
}

// finish sets the results of the written records. A record is dead if one of its operations was rejected. Otherwise it
// gets the result of its last operation, which is on the patient's own route. A blank on another route is superseded
// without effect if it shares a shard with the document.
func (b *batch) finish(fates []Fate) []outcome.Result {
	for _, u := range b.users {
		b.results[u.record] = resultOf(fates[u.ops[0]:u.ops[1]])
	}
	return b.results
}

func resultOf(fates []Fate) outcome.Result {
	for _, fate := range fates {
		if fate.Verdict == Poison {
			return refused(fate)
		}
	}
	if fates[len(fates)-1].Verdict == Superseded {
		return outcome.Result{Kind: outcome.Superseded}
	}
	return outcome.Result{Kind: outcome.Applied}
}
