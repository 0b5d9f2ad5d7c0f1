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

// ErrUnreadable is the error for a letter that does not identify a row.
var ErrUnreadable = errors.New("the letter's key names no row")

// Patients finds the patient of a source row.
type Patients interface {
	// PatientOf returns the patient of a row of billing or labReportRelation, or 0 if the row does not exist.
	PatientOf(ctx context.Context, table string, rowID int64) (int64, error)
}

// Recomputer writes the current state of patients, even if it is unchanged. It returns the patients whose row the
// database rejects, with the errors; the other patients are written.
type Recomputer interface {
	RecomputeForced(ctx context.Context, userIDs []int64) (refused map[int64]error, err error)
}

// Replay processes letters. It reads the rows again and writes the current state of the patients, so that no outdated
// state returns and a deleted row becomes a deletion.
type Replay struct {
	// Read calls visit for all letters; see broker.Read.
	Read       func(ctx context.Context, visit func(r change.Record, total int64) error) error
	Patients   Patients
	Recomputer Recomputer
	Batch      int  // patients per transaction
	DryRun     bool // only report, do not write
}

// Summary counts the results of a replay.
type Summary struct {
	Letters    int
	Patients   int // patients whose row was written
	Refused    int // patients whose row is still rejected by the database: correct the sources, then replay again
	Unreadable int // letters that do not identify a row: check them manually
	Gone       int // letters about deleted rows whose patient is unknown: nothing to write
}

// Run processes all letters that exist at its start and prints its progress to out.
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

// patients returns the patients that a letter is about: the patients of its row images, and the current patient of its
// row. The images only identify patients; their values are not written.
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
		return ids, nil //nolint:nilerr // the images name patients nevertheless
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

// named returns the patients in the row images of a letter about a source row; none if the images cannot be decoded.
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
