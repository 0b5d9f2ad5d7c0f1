package receive

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"

	"github.com/labplatform/labplatform/services/rerun/internal/rerun"
)

// maxReruns bounds the reruns of a report between two confirms, and so the archive that a confirm writes.
const maxReruns = 50

// repetition stores what an instrument repeated on its own: a record of its own with the next number, complete at
// once. The same message again changes nothing.
func (r *receipt) repetition(ctx context.Context) (Result, error) {
	next, err := r.report.Flag.Next(rerun.Instrument)
	if err != nil {
		return Result{}, err
	}
	if !r.report.HasSample(r.command.SampleID) {
		return Result{}, ErrSample
	}
	parameters, err := r.locked.Parameters(ctx)
	if err != nil {
		return Result{}, err
	}
	result := Result{ByInstrument: true, Flag: r.report.Flag, Pending: []int{}}
	wanted := result.split(r.command.Readings, func(index int) bool {
		return slices.ContainsFunc(parameters, func(p rerun.Parameter) bool { return p.Index == index })
	})
	if len(wanted) == 0 {
		return Result{}, ErrNothing
	}
	ledger, err := r.locked.Ledger(ctx)
	if err != nil {
		return Result{}, err
	}
	print := r.fingerprint(wanted)
	if last, ok := ledger.LastRepetition(); ok && last.Fingerprint == print {
		return result, nil
	}
	if ledger.Size() >= maxReruns {
		return Result{}, ErrTooMany
	}
	return r.repeat(ctx, result, next, r.valuesOf(parameters, ledger.Highest()+1, wanted), print, ledger)
}

// repeat inserts record and values; entry 979 is the commit marker.
func (r *receipt) repeat(
	ctx context.Context, result Result, next rerun.Flag, values []rerun.Value, print string, ledger rerun.Ledger,
) (Result, error) {
	record, err := r.insert(ctx, r.record(result.Accepted, values), values, ledger)
	if err != nil {
		return Result{}, err
	}
	for i := range values {
		values[i].Number = record.Number
	}
	if _, result.changed, err = r.put(ctx, record.Number, values); err != nil {
		return Result{}, err
	}
	if next != r.report.Flag {
		if err := r.locked.SetFlag(ctx, next); err != nil {
			return Result{}, err
		}
	}
	result.Flag, result.opened = next, !r.report.Flag.Open()
	return result, r.log(ctx, "Sample rerun values received from an instrument on its own",
		mark{RerunID: record.ID, RerunNumber: record.Number, Indices: result.Accepted, Fingerprint: print})
}

func (r *receipt) record(indices []int, values []rerun.Value) rerun.Record {
	now := r.d.Clock.Now()
	record := rerun.Record{
		ID: rerun.RecordID(r.scope.LabID(), r.d.NewID()), LabID: r.scope.LabID(), ReportID: r.command.ReportID,
		Type: rerun.ByAnalyser, Number: values[0].Number,
		Requested: indices, SampleID: r.command.SampleID, CreatedBy: r.command.Actor.ID,
		CreatedByKind: string(r.command.Actor.Kind), UpdatedBy: r.command.Actor.ID,
		CreatedAt: now, UpdatedAt: now,
	}
	for _, v := range values {
		record.ParameterNames = append(record.ParameterNames, v.ParameterName)
	}
	return record
}

// insert adds the record. A number that is taken belongs to another program, to a rerun that is being cleared
// away, or to this same message, which died before it was committed: then its record is taken over.
func (r *receipt) insert(
	ctx context.Context, record rerun.Record, values []rerun.Value, ledger rerun.Ledger,
) (rerun.Record, error) {
	err := r.d.Records.Insert(ctx, record)
	if !rerun.IsDuplicate(err) {
		return record, err
	}
	records, err := r.d.Records.OfReport(ctx, r.scope, r.command.ReportID)
	if err != nil {
		return record, err
	}
	stored, err := r.d.Values.Values(ctx, r.scope, r.command.ReportID)
	if err != nil {
		return record, err
	}
	archived, err := r.locked.Archived(ctx)
	if err != nil {
		return record, err
	}
	for _, old := range slices.Backward(records) {
		if !archived[old.ID] && r.unfinished(old, stored, values, ledger) {
			return old, nil
		}
	}
	record.Number = rerun.HighestNumber(records) + 1
	for _, v := range stored {
		record.Number = max(record.Number, v.Number+1)
	}
	return record, r.d.Records.Insert(ctx, record)
}

// unfinished reports whether old is what this message left when it died: it was not committed, and all that it
// stored is in the message.
func (r *receipt) unfinished(old rerun.Record, stored, values []rerun.Value, ledger rerun.Ledger) bool {
	if old.Type != rerun.ByAnalyser || old.Foreign || old.SampleID != r.command.SampleID || ledger.Committed(old.ID) ||
		!slices.Equal(old.Requested, indicesOf(values)) {
		return false
	}
	for _, s := range stored {
		sent := func(v rerun.Value) bool { return v.Index == s.Index && v.Same(s) }
		if s.Number == old.Number && !slices.ContainsFunc(values, sent) {
			return false
		}
	}
	return true
}

func indicesOf(values []rerun.Value) []int {
	indices := make([]int, 0, len(values))
	for _, v := range values {
		indices = append(indices, v.Index)
	}
	return indices
}

// fingerprint is equal for messages that say the same: device, sample, and every index with its value.
func (r *receipt) fingerprint(readings []Reading) string {
	sorted := slices.SortedFunc(slices.Values(readings), func(a, b Reading) int { return cmp.Compare(a.Index, b.Index) })
	sum := sha256.New()
	fmt.Fprintf(sum, "%q %q", r.command.DeviceID, r.command.SampleID)
	for _, reading := range sorted {
		fmt.Fprintf(sum, " %d=%q", reading.Index, reading.Value)
	}
	return hex.EncodeToString(sum.Sum(nil)[:16])
}
