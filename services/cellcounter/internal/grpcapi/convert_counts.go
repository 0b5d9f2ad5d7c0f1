package grpcapi

import (
	"math"

	cellcounterv1 "github.com/labplatform/labplatform/proto/gen/lab/cellcounter/v1"
	"github.com/labplatform/labplatform/services/cellcounter/internal/counting"
	"github.com/labplatform/labplatform/services/cellcounter/internal/observe"
)

func givenOf(in []*cellcounterv1.CellTally) []observe.Given {
	given := make([]observe.Given, len(in))
	for i, t := range in {
		given[i] = observe.Given{CellID: t.GetCellId(), Count: int(t.GetCount()), InTotal: t.IncludeInTotal}
	}
	return given
}

func differentialOf(d counting.Differential, decimals int) *cellcounterv1.ComputeDifferentialResponse {
	out := &cellcounterv1.ComputeDifferentialResponse{Total: clamp(d.Total), CorrectedWbc: known(d.CorrectedWBC)}
	for _, s := range d.Shares {
		out.Differential = append(out.Differential, &cellcounterv1.CellShare{
			CellId: s.CellID, Count: clamp(s.Count), IncludeInTotal: s.InTotal,
			Percent: float64(s.Percent) / math.Pow10(decimals), Absolute: known(s.Absolute),
		})
	}
	return out
}

// known returns x, or nil for NaN, so that the JSON has null for a number that cannot be computed.
func known(x float64) *float64 {
	if math.IsNaN(x) {
		return nil
	}
	return &x
}

func compared(c observe.Comparison) *cellcounterv1.GetCountsResponse {
	out := &cellcounterv1.GetCountsResponse{SampleId: c.Report.SampleID, Warnings: warningsOf(c.Warnings)}
	for _, count := range c.Counts {
		o := &cellcounterv1.ObserverCount{
			Observer: clamp(count.Observer), CountedByName: count.CountedBy.Name, CountedAt: count.CountedAt,
			Version: count.Version, OtherSample: count.OtherSample,
		}
		for _, t := range count.Tallies {
			inTotal := t.InTotal
			o.Counts = append(
				o.Counts,
				&cellcounterv1.CellTally{CellId: t.CellID, Count: clamp(t.Count), IncludeInTotal: &inTotal},
			)
		}
		out.Observers = append(out.Observers, o)
	}
	for _, a := range c.Agreements {
		out.Comparison = append(out.Comparison, &cellcounterv1.CellAgreement{
			CellId: a.CellID, FirstPercent: a.First, SecondPercent: a.Second, LowerLimit: a.Lower, UpperLimit: a.Upper,
			WithinChance: a.WithinChance,
		})
	}
	return out
}
