package grpcapi

import (
	"math"

	"github.com/labplatform/labplatform/pkg/apperr"
	cellcounterv1 "github.com/labplatform/labplatform/proto/gen/lab/cellcounter/v1"
	"github.com/labplatform/labplatform/services/cellcounter/internal/configure"
	"github.com/labplatform/labplatform/services/cellcounter/internal/mapping"
)

// elementsOf converts the elements of a write. The error has one field for each invalid value.
func elementsOf(in []*cellcounterv1.MappingInput) ([]configure.Element, error) {
	elements := make([]configure.Element, len(in))
	var fields []apperr.Field
	for i, m := range in {
		e, field := elementOf(m)
		if field != nil {
			field.Index = i
			fields = append(fields, *field)
		}
		elements[i] = e
	}
	if len(fields) > 0 {
		return nil, apperr.InvalidFields(fields...)
	}
	return elements, nil
}

func elementOf(m *cellcounterv1.MappingInput) (configure.Element, *apperr.Field) {
	if m == nil {
		return configure.Element{}, &apperr.Field{Name: "mappings", Message: "an element must be an object"}
	}
	e := configure.Element{FormatID: m.ReportFormatId}
	e.CellID, e.IncludeInTotal = m.CellId, m.IncludeInTotal
	if m.Key != nil {
		key, err := mapping.NewKey(m.GetKey())
		if err != nil {
			return e, &apperr.Field{Name: "key", Message: err.Error()}
		}
		e.Key = &key
	}
	switch {
	case m.ReportFormatIndex != nil && m.ReportFormatOrder != nil:
		e.Parameter = &mapping.Parameter{Index: int(m.GetReportFormatIndex()), Order: int(m.GetReportFormatOrder())}
	case m.ReportFormatIndex != nil:
		return e, &apperr.Field{
			Name:    "report_format_order",
			Message: "report_format_order is required with report_format_index",
		}
	case m.ReportFormatOrder != nil:
		return e, &apperr.Field{
			Name:    "report_format_index",
			Message: "report_format_index is required with report_format_order",
		}
	}
	return e, nil
}

func viewed(v configure.View) *cellcounterv1.GetMappingsResponse {
	scope := "default"
	if v.OwnLab {
		scope = "lab"
	}
	return &cellcounterv1.GetMappingsResponse{Mappings: mappingsOf(v.Rows), Scope: scope, TargetCount: clamp(v.Target)}
}

func mappingsOf(rows []mapping.Row) []*cellcounterv1.Mapping {
	list := make([]*cellcounterv1.Mapping, len(rows))
	for i, r := range rows {
		list[i] = &cellcounterv1.Mapping{
			Key: r.Key.String(), CellId: r.CellID, ReportFormatIndex: clamp(r.Parameter.Index),
			ReportFormatOrder: clamp(r.Parameter.Order), IncludeInTotal: r.IncludeInTotal,
		}
	}
	return list
}

func cellsOf(cells []mapping.Cell) []*cellcounterv1.Cell {
	list := make([]*cellcounterv1.Cell, len(cells))
	for i, c := range cells {
		list[i] = &cellcounterv1.Cell{
			Id: c.ID, Name: c.Name, BgColorHex: c.Background, FgColorHex: c.Foreground, DefaultKey: c.DefaultKey,
			IsDisable: c.Disabled, IsNucleatedRed: c.NucleatedRed, CreatedAt: c.CreatedAt, UpdatedAt: c.UpdatedAt,
		}
	}
	return list
}

func warningsOf(notes []apperr.Field) []*cellcounterv1.Warning {
	list := make([]*cellcounterv1.Warning, len(notes))
	for i, n := range notes {
		list[i] = &cellcounterv1.Warning{Index: clamp(n.Index), Field: n.Name, Message: n.Message}
	}
	return list
}

// clamp limits a number to 32 bits, the width of the columns.
func clamp(n int) int32 { return int32(max(math.MinInt32, min(math.MaxInt32, n))) }
