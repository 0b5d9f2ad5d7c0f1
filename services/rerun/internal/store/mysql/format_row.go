package mysql

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/shopspring/decimal"

	"github.com/labplatform/labplatform/pkg/lab/clinical"
	"github.com/labplatform/labplatform/pkg/lab/reportformat"
	"github.com/labplatform/labplatform/services/rerun/internal/autorerun"
)

// formatRow is a format joined with one of its ranges.
type formatRow struct {
	id        int64
	index     int
	unit      string
	valueType string
	meta      []byte
	reportformat.Range
}

func (r *formatRow) targets() []any {
	return append([]any{&r.id, &r.index, &r.unit, &r.valueType, &r.meta}, r.Targets()...)
}

// formatMeta is the part of ReportFormat.meta about automatic reruns.
type formatMeta struct {
	Allowed   bool            `json:"auto_rerun_allowed"`
	Condition string          `json:"auto_rerun_parameter_condition"`
	Custom    json.RawMessage `json:"custom"` // of any shape, such as "", unless the condition is custom
}

// customLimits are the limits of the condition custom.
type customLimits struct {
	Low  any `json:"low"`
	High any `json:"high"`
}

func readMeta(column []byte) (m formatMeta, ok bool) {
	ok = decode(column, &m)
	return m, ok
}

func decode(text []byte, into any) bool {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	return d.Decode(into) == nil
}

func (m formatMeta) format(index int, unit string) autorerun.Format {
	f := autorerun.Format{Index: index, Unit: unit, Condition: autorerun.Condition(strings.ToLower(m.Condition))}
	var limits customLimits
	if f.Condition != autorerun.Custom || !decode(m.Custom, &limits) {
		return f
	}
	low, lowOK := boundText(limits.Low)
	high, highOK := boundText(limits.High)
	if !lowOK || !highOK {
		return f // a bound is not a number: the range stays empty and decides nothing
	}
	if r, err := clinical.NewRange(low, high); err == nil {
		f.Custom = r
	}
	return f
}

// boundText converts a bound that is a JSON number or a text. null and "" mean no bound.
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
	const widest = 30 // maximum power of ten: far beyond any result, and cheap to print
	d, err := decimal.NewFromString(s)
	if err != nil || d.Exponent() > widest || d.Exponent() < -widest {
		return nil, false
	}
	s = d.String()
	return &s, true
}
