package deadletter

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"

	"github.com/labplatform/labplatform/services/cdc/internal/change"
	"github.com/labplatform/labplatform/services/cdc/internal/envelope"
)

// ErrUnreadable means that a letter names no row.
var ErrUnreadable = errors.New("the letter's key names no row")

// Patients finds the patient of a source row.
type Patients interface {
	// PatientOf returns the patient to whom a row of billing or labReportRelation belongs, 0 when the row does not exist.
	PatientOf(ctx context.Context, table string, rowID int64) (int64, error)
}

// Recomputer writes the present state of patients, also where it looks unchanged. It returns the patients whose row the
// database refuses, and why; the others are written.
type Recomputer interface {
	RecomputeForced(ctx context.Context, userIDs []int64) (refused map[int64]error, err error)
}

// Replay answers letters: it reads the rows that they are about again and writes their present state, so that nothing
// old can come back and a row that was deleted becomes a deletion.
type Replay struct {
	// Read visits all letters; see broker.Read.
	Read       func(ctx context.Context, visit func(r change.Record, total int64) error) error
	Patients   Patients
	Recomputer Recomputer
	Batch      int  // patients in one transaction
	DryRun     bool // only says what it would do
}

// Summary counts what a replay did.
type Summary struct {
	Letters    int
	Patients   int // written
	Refused    int // patients whose row the database refuses still: fix the sources, then replay again
	Unreadable int // letters that name no row: look at them by hand
	Gone       int // letters about rows that no longer exist and whose patient is not known: nothing to write
}

// Run answers every letter there is at its start and tells progress on out.
func (r *Replay) Run(ctx context.Context, out io.Writer) (Summary, error) {
	var sum Summary
	waiting := map[int64]struct{}{}
	err := r.Read(ctx, func(letter change.Record, total int64) error {
		sum.Letters++
		ids, err := r.patients(ctx, letter)
		switch {
		case errors.Is(err, ErrUnreadable):
			sum.Unreadable++
			fmt.Fprintf(out, "unreadable: %s/%s offset %s: %s\n", letter.Header(HeaderTopic), letter.Header(HeaderPartition),
				letter.Header(HeaderOffset), letter.Header(HeaderError))
		case err != nil:
			return err
		case len(ids) == 0:
			sum.Gone++
		}
		for _, id := range ids {
			waiting[id] = struct{}{}
		}
		if sum.Letters%1000 == 0 {
			fmt.Fprintf(out, "%d of %d letters read, %d patients\n", sum.Letters, total, len(waiting))
		}
		return nil
	})
	if err != nil {
		return sum, err
	}
	err = r.recompute(ctx, waiting, &sum, out)
	return sum, err
}

func (r *Replay) recompute(ctx context.Context, waiting map[int64]struct{}, sum *Summary, out io.Writer) error {
	ids := make([]int64, 0, len(waiting))
	for id := range waiting {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	done := 0
	for batch := range slices.Chunk(ids, max(1, r.Batch)) {
		if !r.DryRun {
			refused, err := r.Recomputer.RecomputeForced(ctx, batch)
			if err != nil {
				return fmt.Errorf("recompute patients: %w", err)
			}
			for _, id := range slices.Sorted(maps.Keys(refused)) {
				fmt.Fprintf(out, "refused: patient %d: %v\n", id, refused[id])
			}
			sum.Refused += len(refused)
		}
		done += len(batch)
		sum.Patients = done - sum.Refused
		fmt.Fprintf(out, "%d of %d patients\n", done, len(ids))
	}
	return nil
}

// patients returns the patients that a letter is about: those named in its images, and the one of its row as it is now.
// The images only say whom to look at; nothing of them is written.
func (r *Replay) patients(ctx context.Context, letter change.Record) ([]int64, error) {
	origin := change.Record{Topic: letter.Header(HeaderTopic), Key: letter.Key, Value: letter.Value}
	table := origin.Table()
	column := "id"
	if table == change.UserMeta {
		column = "user_id"
	}
	row, keyErr := envelope.Key(origin, column)
	ids := named(origin)
	switch {
	case keyErr != nil && len(ids) == 0:
		return nil, ErrUnreadable
	case keyErr != nil:
		return ids, nil //nolint:nilerr // the images name patients all the same
	case table == change.UserDetails || table == change.UserMeta:
		return append(ids, row), nil
	case table != change.Billing && table != change.LabReportRelation:
		return nil, ErrUnreadable
	}
	id, err := r.Patients.PatientOf(ctx, table, row)
	if err != nil {
		return nil, err
	}
	if id != 0 {
		ids = append(ids, id)
	}
	return ids, nil
}

// named returns the patients in the images of a source row's letter, none when it cannot be read.
func named(origin change.Record) []int64 {
	c, err := envelope.Decode(origin)
	if err != nil || c.Table == change.UserMeta {
		return nil
	}
	var ids []int64
	for _, image := range [][]byte{c.Before, c.After} {
		if image == nil {
			continue
		}
		if columns, err := envelope.Source(c.Table, image); err == nil {
			ids = append(ids, columns.UserID)
		}
	}
	return ids
}
