package receive

import (
	"context"
	"slices"

	"github.com/labplatform/labplatform/services/rerun/internal/rerun"
)

// requested stores the values of a request. Those of a request that a later one superseded are kept for
// comparison and complete nothing.
func (r *receipt) requested(ctx context.Context) (Result, error) {
	if !r.report.Flag.Open() {
		return Result{}, ErrNoRequest
	}
	request, latest, err := r.find(ctx)
	if err != nil {
		return Result{}, err
	}
	if !r.report.HasSample(r.command.SampleID) {
		return Result{}, ErrSample
	}
	result := Result{Flag: r.report.Flag}
	wanted := result.split(r.command.Readings, func(index int) bool { return slices.Contains(request.Requested, index) })
	if len(wanted) == 0 {
		return Result{}, ErrNothing
	}
	stored, changed, err := r.store(ctx, request, wanted)
	if err != nil {
		return Result{}, err
	}
	result.changed = changed
	result.Pending = without(request.Requested, stored)
	return result, r.complete(ctx, request, latest, &result)
}

// find returns the request that the message is for, and whether it is the latest one. Requests of another
// program have no marker; theirs are looked for in the documents.
func (r *receipt) find(ctx context.Context) (request rerun.Mark, latest bool, err error) {
	ledger, err := r.locked.Ledger(ctx)
	if err != nil {
		return request, false, err
	}
	if request, ok := ledger.Request(r.command.Number); ok {
		last, _ := ledger.Latest()
		return request, last.Number == request.Number, nil
	}
	records, err := r.d.Records.OfReport(ctx, r.scope, r.command.ReportID)
	if err != nil {
		return request, false, err
	}
	highest, found := ledger.Highest(), false
	for _, record := range records {
		if !record.Foreign || record.Type == rerun.ByAnalyser {
			continue
		}
		highest = max(highest, record.Number)
		if record.Number == r.command.Number {
			request, found = rerun.Mark{RerunID: record.ID, Number: record.Number, Requested: record.Requested}, true
		}
	}
	if !found {
		return request, false, ErrNoRequest
	}
	return request, highest == request.Number, nil
}

// store returns every index of the request that is stored now. A message with all of them needs no look at what
// was stored before.
func (r *receipt) store(
	ctx context.Context, request rerun.Mark, wanted []Reading,
) (stored []int, changed int, err error) {
	values, err := r.values(ctx, request.Number, wanted)
	if err != nil {
		return nil, 0, err
	}
	known, changed, err := r.put(ctx, request.Number, values)
	if err != nil {
		return nil, 0, err
	}
	if known == nil && len(wanted) < len(request.Requested) {
		if known, err = r.ofNumber(ctx, request.Number); err != nil {
			return nil, 0, err
		}
	}
	for _, v := range append(known, values...) {
		stored = append(stored, v.Index)
	}
	return stored, changed, nil
}

// complete sets flag 4 when the latest request has all its values. Its slot stays: who awaits values is computed from
// those that are stored, and the next request takes the slot over. A crash before the commit leaves a complete set at
// flag 3, which the next delivery or the sweeper turns into 4.
func (r *receipt) complete(ctx context.Context, request rerun.Mark, latest bool, result *Result) error {
	if latest && len(result.Pending) == 0 && (result.changed > 0 || r.report.Flag == rerun.Requested) {
		if err := r.fulfil(ctx, result); err != nil {
			return err
		}
	}
	if result.changed == 0 {
		return nil
	}
	return r.log(ctx, "Sample rerun values received", mark{RerunID: request.RerunID, RerunNumber: request.Number,
		Indices: result.Accepted})
}

func (r *receipt) fulfil(ctx context.Context, result *Result) error {
	next, err := r.report.Flag.Next(rerun.Complete)
	if err != nil || next == r.report.Flag {
		return err
	}
	result.Flag, result.completed = next, true
	return r.locked.SetFlag(ctx, next)
}

// split sorts the readings of a message and returns those that are wanted.
func (r *Result) split(readings []Reading, want func(index int) bool) []Reading {
	var wanted []Reading
	for _, reading := range readings {
		if want(reading.Index) {
			wanted = append(wanted, reading)
			r.Accepted = append(r.Accepted, reading.Index)
		} else {
			r.Rejected = append(r.Rejected, reading.Index)
		}
	}
	return wanted
}

func without(all, some []int) []int {
	rest := []int{}
	for _, index := range all {
		if !slices.Contains(some, index) {
			rest = append(rest, index)
		}
	}
	return rest
}
