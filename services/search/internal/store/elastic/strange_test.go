package elastic_test

import (
	"fmt"

	"github.com/labplatform/labplatform/services/cdc/indextest"
)

// strange returns patients whose names and numbers contain other characters than letters, digits and blanks.
func strange() rows {
	names := []string{"José Ângela", "Müller-Lüdenscheid", "Strauß", "O'Brien", "D’Souza Maria", "Dsouza Maria", "S.P. Muthu", "S P Muthu", "K.J.", "王小明", "राहुल शर्मा", "தாமரை செல்வி", "Łukasz Ørsted",
		"Mohammed Yusuf", "Md. Yusuf", "Ramesh_Kumar", "1,5 Litre", "Sri: Ram", "B/O Sunita", "Jose\u0301", "ﬁne", "ÆON", "İbrahim", "Shrama Rahool", "Anne-Marie d'Arc", "x_y", "  Two  Spaces ", "Ａｂｃ"}
	var all rows
	for n, name := range names {
		all = append(all, indextest.Row{UserID: int64(5000 + n), LabID: 7, Rev: 3, FullName: name, Email: fmt.Sprintf("É%d.Üser+x@ex-ample.in", n),
			LabPatientID: []string{"ÅB-001", "P~7/é", "00-12", "a_b", "a.b-1.5", "x'y", "Ord 2026/0771"}[n%7], SampleIDs: []string{"S'1-É2", "0007"}, OrderNumbers: []string{"1.5-a.b~c_d", "ORD-2026-0771"}})
	}
	return all
}
