package mysql

import (
	"database/sql"
	"encoding/json"
	"strings"

	"github.com/shopspring/decimal"

	"github.com/labplatform/labplatform/pkg/clinical"
	"github.com/labplatform/labplatform/services/rerun/internal/autorerun"
)

const rangeColumns = "g.id, g.gender, g.ageFrom, g.ageFromUnit, g.ageTo, g.ageToUnit," +
	" g.lowerBound, g.upperBound, g.criticalLower, g.criticalUpper, g.normalTexts, g.criticalTexts, g.displayRange"

// formatRow is a format beside one of its ranges; rangeID is NULL when it has none.
type formatRow struct {
	id                         int64
	index                      int
	valueType                  string
	meta                       []byte
	rangeID                    sql.NullInt64
	gender                     sql.NullString
	ageFrom, ageTo             sql.NullInt64
	ageFromUnit, ageToUnit     sql.NullString
	low, high                  *string
	criticalLow, criticalHigh  *string
	normalTexts, criticalTexts []byte
	display                    sql.NullString
}

func (r *formatRow) targets() []any {
	return []any{&r.id, &r.index, &r.valueType, &r.meta, &r.rangeID, &r.gender, &r.ageFrom, &r.ageFromUnit, &r.ageTo,
		&r.ageToUnit,
		&r.low, &r.high, &r.criticalLow, &r.criticalHigh, &r.normalTexts, &r.criticalTexts, &r.display}
}

// band is not ok for a format without ranges and for a range that cannot be read: then nothing is decided by it.
func (r *formatRow) band() (clinical.Band, bool) {
	if !r.rangeID.Valid || r.gender.String == "" || r.ageFromUnit.String == "" {
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
	b.Reference.TextOnly = r.valueType == text
	b.Reference.NormalTexts = texts(r.normalTexts)
	b.Reference.CriticalTexts = texts(r.criticalTexts)
	var err error
	if b.Reference.Normal, err = rangeOf(r.valueType, r.low, r.high); err != nil {
		return b, false
	}
	b.Reference.Critical, err = rangeOf(r.valueType, r.criticalLow, r.criticalHigh)
	return b, err == nil
}

func unit(s sql.NullString) clinical.Unit {
	if s.String == "" {
		return clinical.Years
	}
	return clinical.Unit(strings.ToUpper(s.String)[0])
}

// texts reads a JSON list; anything else counts as not configured.
func texts(column []byte) []string {
	var list []string
	if len(column) == 0 || json.Unmarshal(column, &list) != nil {
		return nil
	}
	return list
}

// formatMeta is the part of ReportFormat.meta that concerns automatic reruns.
type formatMeta struct {
	Allowed   bool   `json:"auto_rerun_allowed"`
	Condition string `json:"auto_rerun_parameter_condition"`
	Custom    struct {
		Low  any `json:"low"`
		High any `json:"high"`
	} `json:"custom"`
}

func readMeta(column []byte) (formatMeta, bool) {
	var m formatMeta
	d := json.NewDecoder(strings.NewReader(string(column)))
	d.UseNumber()
	return m, d.Decode(&m) == nil
}

func (m formatMeta) format(index int) autorerun.Format {
	f := autorerun.Format{Index: index, Condition: autorerun.Condition(strings.ToLower(m.Condition))}
	low, lowOK := boundText(m.Custom.Low)
	high, highOK := boundText(m.Custom.High)
	if !lowOK || !highOK {
		return f // a bound that is no number: the empty range decides nothing
	}
	if r, err := clinical.NewRange(low, high); err == nil {
		f.Custom = r
	}
	return f
}

// boundText accepts a JSON number or its text; null and "" are a missing bound.
func boundText(v any) (*string, bool) {
	var s string
	switch x := v.(type) {
	case nil:
		return nil, true
	case json.Number:
		s = x.String()
	case string:
		s = strings.TrimSpace(x)
	default:
		return nil, false
	}
	if s == "" {
		return nil, true
	}
	const widest = 30 // powers of ten: far beyond any result, and cheap to print
	d, err := decimal.NewFromString(s)
	if err != nil || d.Exponent() > widest || d.Exponent() < -widest {
		return nil, false
	}
	s = d.String()
	return &s, true
}
