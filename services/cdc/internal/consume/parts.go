package consume

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/labplatform/labplatform/services/cdc/internal/change"
	"github.com/labplatform/labplatform/services/cdc/internal/outcome"
)

// parts is a batch in progress. It starts as one part. After each timeout the size of the parts is halved, so that a
// batch of patients with very many rows eventually succeeds.
type parts struct {
	batch   []change.Record
	size    int              // records per part
	results []outcome.Result // results of finished parts, which are not applied again
}

// run applies the remaining parts until all are done or one fails.
func (p *parts) run(apply func([]change.Record) ([]outcome.Result, error)) ([]outcome.Result, error) {
	for len(p.results) < len(p.batch) {
		open := p.batch[len(p.results):]
		part := open[:min(p.size, len(open))]
		results, err := apply(part)
		var slow *slowError
		if errors.As(err, &slow) {
			p.size = max(1, len(part)/2)
		}
		if err != nil {
			return nil, err
		}
		p.results = append(p.results, results...)
	}
	return p.results, nil
}

// slowError is the error of an attempt that timed out.
type slowError struct {
	records int
	limit   time.Duration
	err     error
}

func (e *slowError) Error() string {
	if e.records == 1 {
		return fmt.Sprintf("one record took longer than %v (CDC_APPLY_TIMEOUT): a patient with very many rows, or a store"+
			" that hardly answers: %v", e.limit, e.err)
	}
	return fmt.Sprintf("%d records took longer than %v (CDC_APPLY_TIMEOUT); half as many are tried next: %v", e.records, e.limit, e.err)
}

func (e *slowError) Unwrap() error { return e.err }

// inTime replaces err by a slowError if the attempt timed out.
func (c *Consumer) inTime(try context.Context, err error, records int) error {
	if err == nil || !errors.Is(try.Err(), context.DeadlineExceeded) {
		return err
	}
	fault := *outcome.FaultOf(err)
	fault.Err = &slowError{records, c.d.Config.ApplyTimeout, fault.Err}
	return &fault
}
