package materialize

import (
	"errors"
	"time"

	"github.com/labplatform/labplatform/services/cdc/internal/change"
	"github.com/labplatform/labplatform/services/cdc/internal/envelope"
	"github.com/labplatform/labplatform/services/cdc/internal/outcome"
)

// batch holds the patients to recompute for the records of one call, and the results determined without the database.
type batch struct {
	fixed     []*outcome.Result // results determined without the database; otherwise nil
	named     [][]int64         // patients named by each record
	last      map[int64]int     // index of the last record that names each patient
	targets   []Target
	truncated map[string]bool
	recent    time.Time // commit time before which events are not waited for
}

func newBatch(records []change.Record, recent time.Time) *batch {
	b := &batch{
		fixed: make([]*outcome.Result, len(records)), named: make([][]int64, len(records)),
		last: map[int64]int{}, truncated: map[string]bool{}, recent: recent,
	}
	for i, r := range records {
		if result := b.take(i, r); result.Kind != outcome.Applied {
			b.fixed[i] = &result
		}
	}
	return b
}

// take adds a record. Any result other than Applied is final.
func (b *batch) take(i int, r change.Record) outcome.Result {
	switch r.Table() {
	case change.UserDetails, change.Billing, change.LabReportRelation:
	default:
		return outcome.Skip("unknown_table")
	}
	c, err := envelope.Decode(r)
	if err != nil {
		return outcome.Died("decode", "malformed", err)
	}
	if c.Tombstone {
		return outcome.Skip("tombstone")
	}
	switch c.Op {
	case change.Read, change.Create, change.Update, change.Delete:
		return b.row(i, r, c)
	case change.Truncate:
		b.truncated[c.Table] = true
		return outcome.Result{Kind: outcome.Applied}
	case change.Message:
		return outcome.Skip("message")
	}
	return outcome.Skip("unknown_op")
}

// row adds the patients of both images: if a bill moves from one patient to another, both change.
func (b *batch) row(i int, r change.Record, c change.Change) outcome.Result {
	images, err := imagesOf(r, c)
	if err != nil {
		return outcome.Died("decode", "malformed", err)
	}
	var seen []Seen
	if b.mayBeEarly(c) {
		newest := images[len(images)-1]
		seen = []Seen{{Table: c.Table, RowID: newest.RowID, UpdatedOn: newest.UpdatedOn, Gone: c.Op == change.Delete}}
	}
	for _, image := range images {
		b.targets = append(b.targets, Target{UserID: image.UserID, Seen: seen, SourceTime: c.Source.TsMs})
		b.named[i] = append(b.named[i], image.UserID)
		b.last[image.UserID] = i
	}
	return outcome.Result{Kind: outcome.Applied}
}

// mayBeEarly reports whether the event may have arrived before its row is readable. It is false for old events, and for
// rows of a snapshot, which were read from the table itself.
func (b *batch) mayBeEarly(c change.Change) bool {
	return c.Op != change.Read && c.Source.TsMs >= b.recent.UnixMilli()
}

// imagesOf returns the images of the row before and after the change; at least one exists.
func imagesOf(r change.Record, c change.Change) ([]envelope.Image, error) {
	var images []envelope.Image
	for _, raw := range [][]byte{c.Before, c.After} {
		if raw == nil {
			continue
		}
		image, err := envelope.Source(c.Table, raw)
		if err != nil {
			return nil, err
		}
		images = append(images, image)
	}
	if len(images) > 0 {
		return images, nil
	}
	if c.Table != change.UserDetails {
		return nil, errors.New(
			"a delete without its before image names no patient: set binlog_row_image=FULL, then reconcile")
	}
	id, err := envelope.Key(r, "id")
	return []envelope.Image{{RowID: id, UserID: id}}, err
}

func (b *batch) results(s Summary) []outcome.Result {
	results := make([]outcome.Result, len(b.fixed))
	for i := range results {
		if b.fixed[i] != nil {
			results[i] = *b.fixed[i]
			continue
		}
		results[i] = b.result(i, s)
	}
	return results
}

func (b *batch) result(i int, s Summary) outcome.Result {
	result := outcome.Result{Kind: outcome.Applied}
	if len(b.named[i]) > 0 {
		result.Kind = outcome.Coalesced
	}
	for _, id := range b.named[i] {
		if b.last[id] != i {
			continue
		}
		if poison, ok := s.Poison[id]; ok {
			return outcome.Died("sql", poison.Reason, poison.Err)
		}
		result.Kind = outcome.Applied
	}
	return result
}
