package elastic_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/labplatform/labplatform/services/cdc/indextest"
	"github.com/labplatform/labplatform/services/search/internal/search"
)

// TestANumberThatNobodyHasFindsNobodyWhateverItsLength: the numbers of a branch begin with the same twenty characters,
// and the index has only those of each prefix. A wrong digit behind them must not show the other patients of the
// branch.
func TestANumberThatNobodyHasFindsNobodyWhateverItsLength(t *testing.T) {
	t.Parallel()
	i := open(t)
	i.Put(
		indextest.Row{UserID: 1, LabID: 7, FullName: "Rahul Sharma", OrderNumbers: []string{"MUMBAI-ANDHERI-2026-000123"}},
		indextest.Row{UserID: 2, LabID: 7, FullName: "Leela Joshi", LabPatientID: "Hospital/2026/OPD/0000123"},
	)
	for text, want := range map[string][]int64{
		"MUMBAI-ANDHERI-2026-000999": nil, "MUMBAI-ANDHERI-2026-000123": {1}, "mumbai-andheri-2026-0001": {1}, "mumbai-andheri-2026": {1},
		"HOSPITAL/2026/OPD/0000999": nil, "hospital/2026/opd/0000123": {2}, "Hospital/2026/OPD/00001": {2}, "HOSPITAL/2026/OPD/0": {2},
	} {
		for _, key := range []search.Key{search.All, "order", "patient_id"} {
			found := i.search(7, text, key, search.Full)
			if key != search.All && found.Total == 0 {
				continue // text is a number of the other field
			}
			if diff := cmp.Diff(want, ids(found)); diff != "" {
				t.Errorf("%s %q (-want +got):\n%s", key, text, diff)
			}
		}
	}
}

// TestANameThatOnlyBeginsAlikeFindsNobodyWhateverItsLength: Venkatanarasimharao and Venkatanarasimhachari are two men
// whose names have the first sixteen letters in common, of which the index has fifteen as a prefix.
func TestANameThatOnlyBeginsAlikeFindsNobodyWhateverItsLength(t *testing.T) {
	t.Parallel()
	i := open(t)
	i.Put(
		indextest.Row{UserID: 1, LabID: 7, FullName: "Venkatanarasimhachari Iyer"},
		indextest.Row{UserID: 2, LabID: 7, FullName: "Štěpánkovičovánovská-Nováková Jana"},
		indextest.Row{UserID: 3, LabID: 7, FullName: "วชิราวุธานุสรณ์พงศ์ไพบูลย์ สมชาย"},
	)
	for text, want := range map[string]string{
		"Venkatanarasimharao": "", "Venkatanarasimharao Iyer": "", "Iyer Venkatanarasimharao": "", "Iyer Mr Venkatanarasimharao": "",
		"Venkatanarasimhach": "begins", "VENKATANARASIMHACH Iyer": "begins", "Iyer venkatanarasimhach": "begins", "Iy Venkatanarasimhach": "begins",
		"Venkatanarasimhachari": "exact", "Iyer Venkatanarasimhachari": "exact", "Venkatanarasim": "begins",
		"Stepankovicovanovska": "exact", "Štěpánkovičovánov": "begins", "stepankovicovanov jan": "begins", "วชิราวุธานุสรณ์พงศ์": "begins",
	} {
		got := ""
		if hits := i.search(7, text, search.All, search.Full).Hits; len(hits) > 0 {
			got = hits[0].Match.String()
		}
		if got != want {
			t.Errorf("%q finds by %q, want %q", text, got, want)
		}
	}
}

// TestWhoSoundsAlikeStandsBeforeWhoHasAnotherName: without blanks, Mohammed Abdul Rahman Khan and Mohammed Abdul Rahman
// Kadir have the same first twenty letters, which is what the index has of them.
func TestWhoSoundsAlikeStandsBeforeWhoHasAnotherName(t *testing.T) {
	t.Parallel()
	i := open(t)
	i.Put(
		indextest.Row{UserID: 1, LabID: 7, FullName: "Mohammed Abdul Rahman Kadir"},
		indextest.Row{UserID: 2, LabID: 7, FullName: "Mohamed Abdul Rehman Khan"},
		indextest.Row{UserID: 3, LabID: 7, FullName: "Venkatanarasimharajuvaripeta"},
	)
	for text, want := range map[string]int64{
		"Mohammed Abdul Rahman Khan": 2, "Mohammed Abdul Rahman Kadir": 1, "Mohammed Abdulrahman Kadir": 1, "MohammedAbdulRahmanKadir": 1,
		"Venkata Narasimha Raju Varipeta": 3, "Venkatanarasimharaju Varipeta": 3,
	} {
		if got := ids(i.search(7, text, search.All, search.Full)); len(got) == 0 || got[0] != want {
			t.Errorf("%q finds %v, want %d first", text, got, want)
		}
	}
}

// TestALongNameIsFoundWithItsNumbers: a slip of paper has a name of eight words and the telephone number. Each of them
// alone finds the patient, so both together must do so, too.
func TestALongNameIsFoundWithItsNumbers(t *testing.T) {
	t.Parallel()
	i := open(t)
	i.Put(
		indextest.Row{UserID: 1, LabID: 7, FullName: "Mohammed bin Abdul Rahman bin Faisal Al Saud", Contact: "9800000001", DateOfBirth: "1970-05-06"},
		indextest.Row{UserID: 2, LabID: 7, FullName: "Maria Fernanda da Silva Santos de Oliveira", Contact: "9800000002", DateOfBirth: "1990-02-11"},
		indextest.Row{UserID: 3, LabID: 7, FullName: "Leela Joshi", Contact: "9800000003"},
	)
	for text, want := range map[string]int64{
		"Mohammed bin Abdul Rahman bin Faisal Al Saud 9800000001":                     1,
		"Mohammed bin Abdul Rahman bin Faisal Al Saud 06/05/1970":                     1,
		"Mr Mohammed bin Abdulrahman bin Faisal Al Saud, 56 M, mob 9800000001":        1,
		"Maria Fernanda da Silva Santos de Oliveira 11/02/1990 9800000002":            2,
		"Maria Fernanda da Silva Santos de Oliveira, DOB 11/02/1990, tel. 9800000002": 2,
	} {
		if got := ids(i.search(7, text, search.All, search.Full)); len(got) != 1 || got[0] != want {
			t.Errorf("%q finds %v, want %d", text, got, want)
		}
	}
}
