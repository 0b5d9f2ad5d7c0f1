package reportformat

import (
	"database/sql"
	"encoding/json"
	"strings"

	"github.com/labplatform/labplatform/pkg/clinical"
)

// The values of ReportFormat.valueType that are no plain numbers: parameters whose bounds are denominators, and words.
const (
	titre = "titer"
	text  = "text"
)

// RangeColumns are the columns of ReportFormatRange g in the order of Range.Targets.
const RangeColumns = "g.id, g.gender, g.ageFrom, g.ageFromUnit, g.ageTo, g.ageToUnit," +
	" g.lowerBound, g.upperBound, g.criticalLower, g.criticalUpper, g.normalTexts, g.criticalTexts, g.displayRange"

// Columns are the columns of ReportFormatRange that RangeColumns reads, for a service's check of the platform's tables.
func Columns() map[string][]string {
	return map[string][]string{"ReportFormatRange": {"id", "reportFormatId_id", "gender", "ageFrom", "ageFromUnit", "ageTo",
		"ageToUnit", "lowerBound", "upperBound", "criticalLower", "criticalUpper", "normalTexts", "criticalTexts", "displayRange"}}
}

// Range is one row of ReportFormatRange, all NULL for a format without ranges.
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

// Targets are where rows.Scan puts RangeColumns.
func (r *Range) Targets() []any {
	return []any{&r.id, &r.gender, &r.ageFrom, &r.ageFromUnit, &r.ageTo, &r.ageToUnit,
		&r.low, &r.high, &r.criticalLow, &r.criticalHigh, &r.normalTexts, &r.criticalTexts, &r.display}
}

// Band is not ok for a format without ranges and for a range that cannot be read: then nothing is decided by it.
func (r *Range) Band(valueType string) (clinical.Band, bool) {
	if !r.id.Valid || r.gender.String == "" || r.ageFromUnit.String == "" {
		return clinical.Band{}, false
	}
	b := clinical.Band{
		Gender:  strings.ToUpper(r.gender.String)[0],
		From:    clinical.Age{N: int(r.ageFrom.Int64), Unit: unit(r.ageFromUnit)},
		Display: r.display.String,
	}
	if r.ageTo.Valid {
		b.To = &clinical.Age{N: int(r.ageTo.Int64), Unit: unit(r.ageToUnit)}
	}
	b.Reference.TextOnly = valueType == text
	b.Reference.NormalTexts = texts(r.normalTexts)
	b.Reference.CriticalTexts = texts(r.criticalTexts)
	var err error
	if b.Reference.Normal, err = rangeOf(valueType, r.low, r.high); err != nil {
		return b, false
	}
	b.Reference.Critical, err = rangeOf(valueType, r.criticalLow, r.criticalHigh)
	return b, err == nil
}

// Limits are the bounds as the database prints them, nil where there is none: the normal ones, then the critical ones.
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

// texts reads a JSON list; anything else counts as not configured.
func texts(column []byte) []string {
	var list []string
	if len(column) == 0 || json.Unmarshal(column, &list) != nil {
		return nil
	}
	return list
}
