package reportformat

import (
	"cmp"
	"database/sql"
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/labplatform/labplatform/pkg/lab/clinical"
)

// Values of ReportFormat.valueType other than plain numbers: parameters whose bounds are denominators, and words.
const (
	titre = "titer"
	text  = "text"
)

// everyone is the gender of a range for all patients.
const everyone = "A"

// RangeColumns lists the columns of ReportFormatRange g in the order of Range.Targets.
const RangeColumns = "g.id, g.gender, g.ageFrom, g.ageFromUnit, g.ageTo, g.ageToUnit," +
	" g.lowerBound, g.upperBound, g.criticalLower, g.criticalUpper, g.normalTexts, g.criticalTexts, g.displayRange"

// Columns returns, by table, the columns that a query with RangeColumns needs, with reportFormatId_id for the join. A
// service passes them to its check of the platform's tables.
func Columns() map[string][]string {
	return map[string][]string{
		"ReportFormatRange": {
			"id",
			"reportFormatId_id",
			"gender",
			"ageFrom",
			"ageFromUnit",
			"ageTo",
			"ageToUnit",
			"lowerBound",
			"upperBound",
			"criticalLower",
			"criticalUpper",
			"normalTexts",
			"criticalTexts",
			"displayRange",
		},
	}
}

// Range is one row of ReportFormatRange; all columns are NULL for a format without ranges.
type Range struct {
	id                         sql.NullInt64
	gender                     sql.NullString
	ageFrom, ageTo             sql.NullInt64
	ageFromUnit, ageToUnit     sql.NullString
	low, high                  *string
	criticalLow, criticalHigh  *string
	normalTexts, criticalTexts []byte
	display                    sql.NullString
}

// Targets returns the destinations of rows.Scan for RangeColumns.
func (r *Range) Targets() []any {
	return []any{&r.id, &r.gender, &r.ageFrom, &r.ageFromUnit, &r.ageTo, &r.ageToUnit,
		&r.low, &r.high, &r.criticalLow, &r.criticalHigh, &r.normalTexts, &r.criticalTexts, &r.display}
}

// Band returns the range as a band. ok is false for a format without ranges and for an invalid range. A range without a
// gender applies to everyone: if it were skipped, its critical limits would be lost.
func (r *Range) Band(valueType string) (clinical.Band, bool) {
	if !r.id.Valid {
		return clinical.Band{}, false
	}
	b := clinical.Band{
		Gender:  strings.ToUpper(cmp.Or(r.gender.String, everyone))[0],
		From:    clinical.Age{N: int(r.ageFrom.Int64), Unit: unit(r.ageFromUnit)},
		Display: r.display.String,
	}
	if r.ageTo.Valid {
		b.To = &clinical.Age{N: int(r.ageTo.Int64), Unit: unit(r.ageToUnit)}
	}
	b.Reference.TextOnly = valueType == text
	b.Reference.NormalTexts = texts(r.normalTexts)
	b.Reference.CriticalTexts = criticalTexts(r.criticalTexts)
	var err error
	if b.Reference.Normal, err = rangeOf(valueType, r.low, r.high); err != nil {
		return b, false
	}
	b.Reference.Critical, err = rangeOf(valueType, r.criticalLow, r.criticalHigh)
	return b, err == nil
}

// Limits returns the bounds as the database prints them, nil for missing ones: the normal, then the critical ones.
func (r *Range) Limits() (low, high, criticalLow, criticalHigh *string) {
	return r.low, r.high, r.criticalLow, r.criticalHigh
}

func unit(s sql.NullString) clinical.Unit {
	if s.String == "" {
		return clinical.Years
	}
	return clinical.Unit(strings.ToUpper(s.String)[0])
}

func rangeOf(valueType string, low, high *string) (clinical.Range, error) {
	if valueType == titre {
		return clinical.NewTitreRange(low, high)
	}
	return clinical.NewRange(low, high)
}

// texts parses a JSON list of strings; anything else counts as not configured.
func texts(column []byte) []string {
	var list []string
	if len(column) == 0 || json.Unmarshal(column, &list) != nil {
		return nil
	}
	return list
}

// criticalTexts parses the column of critical texts like texts. A column that is not a list of strings becomes one text
// that no result equals. The parameter then has critical texts, so a result that is not listed as normal is unclear
// instead of normal.
func criticalTexts(column []byte) []string {
	list := texts(column)
	if list == nil && len(column) > 0 && string(column) != "null" && string(column) != "[]" {
		return []string{string(column)}
	}
	return list
}

// Raw holds the columns of RangeColumns as the database sends them; nil is NULL. It is valid until the next Scan.
type Raw [13]sql.RawBytes

// Targets returns the destinations of rows.Scan for RangeColumns.
func (r *Raw) Targets() []any {
	targets := make([]any, len(r))
	for i := range r {
		targets[i] = &r[i]
	}
	return targets
}

// AppendKey appends all columns except the row's id to key: rows with equal keys have equal ranges.
func (r *Raw) AppendKey(key []byte) []byte {
	for i, column := range r {
		switch {
		case column == nil:
			key = append(key, 0)
		case i == 0:
			key = append(key, 1)
		default:
			key = append(append(key, 1), column...)
		}
		key = append(key, 0)
	}
	return key
}

// Read returns a copy of the columns as a Range.
func (r *Raw) Read() Range {
	var read Range
	read.id.Valid = r[0] != nil
	for i, into := range []*sql.NullString{1: &read.gender, 3: &read.ageFromUnit, 5: &read.ageToUnit, 12: &read.display} {
		if into != nil && r[i] != nil {
			*into = sql.NullString{String: string(r[i]), Valid: true}
		}
	}
	for i, into := range []*sql.NullInt64{2: &read.ageFrom, 4: &read.ageTo} {
		if into != nil && r[i] != nil {
			n, err := strconv.ParseInt(string(r[i]), 10, 64)
			*into = sql.NullInt64{Int64: n, Valid: true}
			read.id.Valid = read.id.Valid && err == nil // an invalid range is left out
		}
	}
	for i, into := range []**string{6: &read.low, 7: &read.high, 8: &read.criticalLow, 9: &read.criticalHigh} {
		if into != nil && r[i] != nil {
			text := string(r[i])
			*into = &text
		}
	}
	read.normalTexts, read.criticalTexts = slices.Clone([]byte(r[10])), slices.Clone([]byte(r[11]))
	return read
}
