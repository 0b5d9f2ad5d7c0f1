package mysql

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"sync"

	"github.com/labplatform/labplatform/pkg/lab/clinical"
	"github.com/labplatform/labplatform/pkg/lab/reportformat"
	"github.com/labplatform/labplatform/services/callout/internal/callout"
)

// formats reads the formats of tests. They belong to the platform, so the query has no laboratory; the tests come from
// reports of the laboratory. Formats have no time of change, so every decision reads them again; only the parsed form
// of equal ranges is shared. Lists use recentFormats instead. The rows are sorted here, because the database is slow at
// sorting wide rows with JSON columns.
func (s *Store) formats(ctx context.Context, q querier, tests []int64, condition string) (callout.Formats, error) {
	in, args := list(tests)
	var row formatRow
	targets := append(
		[]any{&row.id, &row.test, &row.index, &row.order, &row.name, &row.unit, &row.valueType},
		row.limits.Targets()...)
	read := map[int64]*readFormat{}
	err := each(
		ctx,
		q,
		"read formats",
		"SELECT f.id, f.testId_id, f.`index`, f.`order`, f.parameterName, f.unit, f.valueType, "+
			reportformat.RangeColumns+" FROM ReportFormat f LEFT JOIN ReportFormatRange g ON g.reportFormatId_id = f.id"+
			" WHERE f.isDisabled = 0 AND f.testId_id IN ("+in+")"+condition,
		args,
		func(r *sql.Rows) error {
			if err := r.Scan(targets...); err != nil {
				return err
			}
			id, err := integer(row.id)
			if err != nil {
				return err
			}
			f := read[id]
			if f == nil {
				f = &readFormat{}
				read[id] = f
				if f.Format, err = row.format(id); err != nil {
					return err
				}
			}
			if b := s.bands.read(&row); b.ok {
				at, err := integer(row.limits[0])
				f.ranges = append(f.ranges, readRange{at, b})
				return err
			}
			return nil
		},
	)
	if err != nil {
		return nil, err
	}
	return s.sorted(read), nil
}

// readFormat is a format with its ranges in the order read.
type readFormat struct {
	callout.Format
	ranges []readRange
}

type readRange struct {
	id   int64
	band *parsedBand
}

// sorted orders the formats and their ranges by id. If several ranges apply to a patient, the first one is used.
func (s *Store) sorted(read map[int64]*readFormat) callout.Formats {
	formats := callout.Formats{}
	for _, id := range slices.Sorted(maps.Keys(read)) {
		f := read[id]
		slices.SortFunc(f.ranges, func(a, b readRange) int { return cmp.Compare(a.id, b.id) })
		set := s.bands.set(f.ranges)
		f.Bands, f.Printed = set.bands, set.printed
		formats[f.TestID] = append(formats[f.TestID], f.Format)
	}
	return formats
}

// criticalFormats selects the formats with a critical limit, with all their ranges. Ranges without a critical limit are
// needed too, because they may be the ones that apply to a patient.
const criticalFormats = " AND EXISTS (SELECT 1 FROM ReportFormatRange c WHERE c.reportFormatId_id = f.id AND" +
	" (c.criticalLower IS NOT NULL OR c.criticalUpper IS NOT NULL OR c.criticalTexts IS NOT NULL))"

// formatRow is a format joined with one of its ranges. It points into the driver's buffer.
type formatRow struct {
	id, test, index, order, name, unit, valueType sql.RawBytes
	limits                                        reportformat.Raw
}

func (r *formatRow) format(id int64) (callout.Format, error) {
	test, errTest := integer(r.test)
	index, errIndex := integer(r.index)
	order, errOrder := integer(r.order)
	return callout.Format{
			ID:     id,
			TestID: test,
			Index:  int(index),
			Order:  int(order),
			Name:   string(r.name),
			Unit:   string(r.unit),
		},
		errors.Join(
			errTest,
			errIndex,
			errOrder,
		)
}

func integer(column sql.RawBytes) (int64, error) {
	n, err := strconv.ParseInt(string(column), 10, 64)
	if err != nil {
		return 0, fmt.Errorf("read integer: %w", strconv.ErrSyntax)
	}
	return n, nil
}

// bands caches parsed ranges. The key is their content, so that an entry is never outdated.
type bands struct {
	mu     sync.RWMutex
	parsed map[string]*parsedBand // guarded by mu
	sets   map[string]*bandSet    // by the numbers of the ranges; guarded by mu
	last   uint64                 // guarded by mu
}

type parsedBand struct {
	number  uint64
	band    clinical.Band
	printed callout.Printed
	ok      bool
}

// bandSet holds the ranges of a format. It is shared and must not be changed.
type bandSet struct {
	bands   []clinical.Band
	printed []callout.Printed
}

// maxBands is the maximum number of cached ranges, and of cached sets of ranges, about 1 KiB each. When it is reached,
// the cache is emptied.
const maxBands = 20_000

func (b *bands) read(row *formatRow) *parsedBand {
	key := make([]byte, 0, 192)
	key = row.limits.AppendKey(append(append(key, row.valueType...), 0))
	b.mu.RLock()
	p := b.parsed[string(key)]
	b.mu.RUnlock()
	if p != nil {
		return p
	}
	g := row.limits.Read()
	p = &parsedBand{}
	p.band, p.ok = g.Band(string(row.valueType))
	p.printed = printed(&g, p.band)
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.parsed == nil || len(b.parsed) >= maxBands {
		b.parsed = map[string]*parsedBand{}
	}
	b.last++ // numbers are not reused, so a cached set stays correct after its ranges are removed
	p.number = b.last
	b.parsed[string(key)] = p
	return p
}

func (b *bands) set(ranges []readRange) *bandSet {
	if len(ranges) == 0 {
		return &bandSet{}
	}
	key := make([]byte, 0, 64)
	for _, r := range ranges {
		key = binary.AppendUvarint(key, r.band.number)
	}
	b.mu.RLock()
	set := b.sets[string(key)]
	b.mu.RUnlock()
	if set != nil {
		return set
	}
	set = &bandSet{make([]clinical.Band, len(ranges)), make([]callout.Printed, len(ranges))}
	for i, r := range ranges {
		set.bands[i], set.printed[i] = r.band.band, r.band.printed
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.sets == nil || len(b.sets) >= maxBands {
		b.sets = map[string]*bandSet{}
	}
	b.sets[string(key)] = set
	return set
}

func printed(g *reportformat.Range, b clinical.Band) callout.Printed {
	l := callout.Limits{Display: b.Display, NormalTexts: b.Reference.NormalTexts, CriticalTexts: b.Reference.CriticalTexts}
	l.Low, l.High, l.CriticalLow, l.CriticalHigh = g.Limits()
	return l.Print()
}
