package mysql

import (
	"context"
	"database/sql"
	"fmt"
	"strconv"
	"sync"

	"github.com/labplatform/labplatform/pkg/clinical"
	"github.com/labplatform/labplatform/pkg/reportformat"
	"github.com/labplatform/labplatform/services/callout/internal/callout"
)

// formats are the platform's and no laboratory's data: the tests come from reports of the laboratory. They are read anew
// each time, since nothing tells when one changes; only the parsing of equal ranges is shared.
func (s *Store) formats(ctx context.Context, q querier, tests []int64) (callout.Formats, error) {
	formats := make(callout.Formats, len(tests))
	in, args := list(tests)
	var row formatRow
	targets := append([]any{&row.id, &row.test, &row.index, &row.order, &row.name, &row.unit, &row.valueType}, row.limits.Targets()...)
	var last int64
	err := each(ctx, q, "read formats", "SELECT f.id, f.testId_id, f.`index`, f.`order`, f.parameterName, f.unit, f.valueType, "+
		reportformat.RangeColumns+" FROM ReportFormat f LEFT JOIN ReportFormatRange g ON g.reportFormatId_id = f.id"+
		" WHERE f.isDisabled = 0 AND f.testId_id IN ("+in+") ORDER BY f.testId_id, f.id, g.id", args, func(r *sql.Rows) error {
		if err := r.Scan(targets...); err != nil {
			return err
		}
		id, test, err := row.ids()
		if err != nil {
			return err
		}
		of := formats[test]
		if len(of) == 0 || last != id {
			last = id
			f, err := row.format(id, test)
			if err != nil {
				return err
			}
			of = append(of, f)
			formats[test] = of
		}
		if b := s.bands.read(&row); b.ok {
			f := &of[len(of)-1]
			f.Bands, f.Printed = append(f.Bands, b.band), append(f.Printed, b.printed)
		}
		return nil
	})
	return formats, err
}

// formatRow is a format beside one of its ranges, as the database sends it.
type formatRow struct {
	id, test, index, order, name, unit, valueType sql.RawBytes
	limits                                        reportformat.Raw
}

func (r *formatRow) ids() (id, test int64, err error) {
	if id, err = integer(r.id); err != nil {
		return 0, 0, err
	}
	test, err = integer(r.test)
	return id, test, err
}

func (r *formatRow) format(id, test int64) (callout.Format, error) {
	index, err := integer(r.index)
	if err != nil {
		return callout.Format{}, err
	}
	order, err := integer(r.order)
	return callout.Format{ID: id, TestID: test, Index: int(index), Order: int(order), Name: string(r.name), Unit: string(r.unit)}, err
}

func integer(column sql.RawBytes) (int64, error) {
	n, err := strconv.ParseInt(string(column), 10, 64)
	if err != nil {
		return 0, fmt.Errorf("read integer: %w", strconv.ErrSyntax)
	}
	return n, nil
}

// bands shares the parsed form of ranges by their content, so it can never be out of date.
type bands struct {
	mu     sync.RWMutex
	parsed map[string]parsedBand // guarded by mu
}

type parsedBand struct {
	band    clinical.Band
	printed callout.Printed
	ok      bool
}

// mostBands is how many different ranges are remembered, about 1 KiB each, before all are forgotten.
const mostBands = 20_000

func (b *bands) read(row *formatRow) parsedBand {
	key := make([]byte, 0, 192)
	key = row.limits.AppendKey(append(append(key, row.valueType...), 0))
	b.mu.RLock()
	p, ok := b.parsed[string(key)]
	b.mu.RUnlock()
	if ok {
		return p
	}
	g := row.limits.Read()
	p.band, p.ok = g.Band(string(row.valueType))
	p.printed = printed(&g, p.band)
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.parsed == nil || len(b.parsed) >= mostBands {
		b.parsed = map[string]parsedBand{}
	}
	b.parsed[string(key)] = p
	return p
}

func printed(g *reportformat.Range, b clinical.Band) callout.Printed {
	l := callout.Limits{Display: b.Display, NormalTexts: b.Reference.NormalTexts, CriticalTexts: b.Reference.CriticalTexts}
	l.Low, l.High, l.CriticalLow, l.CriticalHigh = g.Limits()
	return l.Print()
}
