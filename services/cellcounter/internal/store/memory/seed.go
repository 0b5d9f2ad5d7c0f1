package memory

import (
	"github.com/labplatform/labplatform/services/cellcounter/internal/mapping"
	"github.com/labplatform/labplatform/services/cellcounter/internal/observe"
)

// Seeded returns a store with what the suite of storetest expects.
func Seeded() *Store {
	s := New()
	formats := map[int64]mapping.Parameter{}
	for n := 1; n <= 5; n++ {
		formats[int64(5500+n)] = mapping.Parameter{Index: n, Order: n}
	}
	s.Tests[55] = Test{LabID: 12, Formats: formats}
	s.Tests[56] = Test{Formats: map[int64]mapping.Parameter{5601: {Index: 1, Order: 1}}}
	s.CellsByID[1] = mapping.Cell{ID: 1, Name: "Neutrophil", Background: "#4C6EF5", Foreground: "#FFFFFF", DefaultKey: "n"}
	s.CellsByID[2] = mapping.Cell{ID: 2, Name: "Lymphocyte", Background: "#2B8A3E", Foreground: "#FFFFFF", DefaultKey: "l"}
	s.CellsByID[3] = mapping.Cell{ID: 3, Name: "Stem cell", Background: "#000000", Foreground: "#FFFFFF", Disabled: true}
	s.CellsByID[13] = mapping.Cell{ID: 13, Name: "NRBC", Background: "#FFA8A8", Foreground: "#000000", NucleatedRed: true}
	s.Reports[7001] = Report{LabID: 12, DoctorID: 301, Report: observe.Report{ID: 7001, BillID: 1, TestID: 55}}
	return s
}
