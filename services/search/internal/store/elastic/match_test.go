package elastic_test

import (
	"testing"

	"github.com/labplatform/labplatform/services/cdc/indextest"
	"github.com/labplatform/labplatform/services/search/internal/search"
)

// TestEachHitIsGradedByTheWeakestStep checks that each hit gets the grade of the weakest comparison needed to find it,
// so that guesses are marked.
func TestEachHitIsGradedByTheWeakestStep(t *testing.T) {
	t.Parallel()
	i := open(t)
	i.Put(indextest.Row{UserID: 1, LabID: 7, FullName: "Krishnamurthy Raju", Contact: "7775945807", LabPatientID: "OPD-26-001534-7"},
		indextest.Row{UserID: 2, LabID: 7, FullName: "Mohammed Farooq"},
		indextest.Row{UserID: 4, LabID: 7, FullName: "Светлана Блинова"}, indextest.Row{UserID: 5, LabID: 7, FullName: "李秀华"},
		indextest.Row{UserID: 6, LabID: 7, FullName: "محمدجواد ایروانی", DateOfBirth: "1980-02-11"}, indextest.Row{UserID: 7, LabID: 7, FullName: "राहुल वर्मा"},
		indextest.Row{UserID: 8, LabID: 7, FullName: "عبد الكريم"}, indextest.Row{UserID: 9, LabID: 7, FullName: "نورالدین"},
		indextest.Row{UserID: 3, LabID: 7, FullName: "Anna Maria Rossi", DateOfBirth: "1990-02-11", Contact: "9812345678"})
	for text, want := range map[string]string{
		"Krishnamurthy Raju": "exact", "raju krishnamurthy": "exact", "KrishnamurthyRaju": "exact", "OPD-26-001534-7": "exact", "7775945807": "exact",
		"krishnam raju": "begins", "krish": "begins", "OPD-26": "part", "45807": "part", "raju 77759": "part", "krishnam 77759": "part",
		"Muhammad Faruk": "sound", "Krishnamurti Raaju": "sound", "Farooq Muhammed": "sound", "Krishnamurthy Rajv": "typo", "Rosti Anna": "typo",
		"Anna Maria Rossi of Verona": "tolerant",
		"Светлана Блинова":           "exact", "блинова светлана": "exact", "Svetlana Blinova": "sound", "Blinova": "sound", "Mrs Svetlana Blinova": "sound", "李秀华": "exact", "Li Xiuhua": "sound",
		"李秀華": "sound", "محمدجواد ایروانی": "exact", "محمد جواد ايرواني": "exact", "مُحمَّد جـواد ایروانی": "exact", "Mohammadjavad Iravani": "sound", "Iravani": "sound",
		"राहुल वर्मा": "exact", "Rahul Varma": "sound", "মোহাম্মদ ফারুক": "sound", "محمد فاروق": "sound", "Мохаммед Фарук": "sound", "mrs anna rossi": "exact",
		"Abdul Karim": "sound", "Nuruddin": "sound",
	} {
		result := i.search(7, text, search.All, search.Full)
		if len(result.Hits) == 0 {
			t.Errorf("%q finds no one, want a hit of %s", text, want)
			continue
		}
		if got := result.Hits[0].Match.String(); got != want {
			t.Errorf("%q finds %s by %s, want %s", text, result.Hits[0].FullName, got, want)
		}
	}
	for text, want := range map[string]string{
		"Anna Maria Rossi 1990-02-11": "exact", "Rossi Ana 1990-02-11": "sound", "Verdi Anna 1990-02-11": "tolerant", "Mohammadjavad Iravani 1980-02-11": "sound",
	} {
		result := i.search(7, text, search.Duplicate, search.Full)
		if len(result.Hits) == 0 || result.Hits[0].Match.String() != want {
			t.Errorf("duplicate %q: %+v, want a hit of %s", text, result.Hits, want)
		}
	}
}

// TestHalfANameFindsNobody checks that names which only begin alike do not find each other, and that short names are
// not guessed, because too many names are similar to them.
func TestHalfANameFindsNobody(t *testing.T) {
	t.Parallel()
	i := open(t)
	i.Put(people7("Krishnamurthy Raju", "Venkatesan Gopal", "Subramanian Pillai", "Padmanabhan Iyer", "Ramakrishnan Nair", "Balasubramanian Menon", "Diogo Costa", "Shivani Gola",
		"Nath Peri", "Sunita Rao")...)
	for _, text := range []string{
		"Krishnakumar Raju", "Krishnakumar", "Venkataraman Gopal", "Venkataraman", "Subramoni Pillai", "Subramoni", "Padmavathi Iyer", "Ramachandran Nair", "Ramachandran",
		"Balakrishnan Menon", "Balachandran", "Tak", "Mr Tak", "Tak self", "Tak 45 y", "Sawhney", "Bath", "Puri", "Rai", "Goel",
	} {
		if result := i.search(7, text, search.All, search.Full); result.Total > 0 {
			t.Errorf("%q finds %q by %s", text, result.Hits[0].FullName, result.Hits[0].Match)
		}
	}
}

func people7(names ...string) rows {
	all := people(names...)
	for n := range all {
		all[n].LabID = 7
	}
	return all
}

// TestAgeAndSexAsOnASlipRankTheNamesakes: a slip of paper says 45/M. The man of 45 must stand before the boy of the same
// name, who was registered first.
func TestAgeAndSexAsOnASlipRankTheNamesakes(t *testing.T) {
	t.Parallel()
	i := open(t)
	i.Put(indextest.Row{UserID: 1, LabID: 7, FullName: "Kiran Sharma", Age: "12 Y", Gender: "Male"},
		indextest.Row{UserID: 2, LabID: 7, FullName: "Kiran Sharma", Age: "45 Y", Gender: "Male"},
		indextest.Row{UserID: 3, LabID: 7, FullName: "Kiran Sharma", Age: "45 Y", Gender: "Female"})
	for text, want := range map[string]int64{
		"Kiran Sharma 45 M": 2, "Kiran Sharma 45/M": 2, "Kiran Sharma M/45": 2, "Kiran Sharma 45yrs/M": 2, "Kiran Sharma, 45 yrs, M": 2, "Kiran Sharma (45M)": 2,
		"Kiran Sharma 45 F": 3, "Kiran Sharma F-45": 3, "Kiran Sharma 45 y F": 3, "Kiran Sharma 12/M": 1,
	} {
		hits := i.search(7, text, search.All, search.Full).Hits
		if len(hits) != 3 || hits[0].UserID != want || hits[0].Match != search.Exact {
			t.Errorf("%q: got %+v, want %d first, exact", text, hits, want)
		}
	}
}

// TestInitialsAreNoNames: Sam is a name. A patient with the initials S, A and M is not exactly the person who was asked
// for, nor is one whose names begin alike when they are written without the blank.
func TestInitialsAreNoNames(t *testing.T) {
	t.Parallel()
	i := open(t)
	i.Put(people7("Sunil Anand Mehta", "Leela Joshi")...)
	for text, want := range map[string]string{
		"Sam": "begins", "SAM": "begins", "Sam Mehta": "begins", "Sunilan": "begins", "Mr Mehtasun": "begins",
		"Sunilanand": "exact", "Mehta Sunilanand": "exact", "Mr Sunil Mehta": "exact", "Leela": "exact",
	} {
		hits := i.search(7, text, search.All, search.Full).Hits
		if len(hits) != 1 || hits[0].Match.String() != want {
			t.Errorf("%q: got %+v, want one hit of %s", text, hits, want)
		}
	}
}

// TestTheMotherIsNotHerBaby: a newborn is registered by the name of the mother. While only the mother is registered, a
// search for her baby must not show her as exactly the person who was asked for.
func TestTheMotherIsNotHerBaby(t *testing.T) {
	t.Parallel()
	i := open(t)
	i.Put(people7("Sunita Rao", "Leela Joshi", "B/O Leela Joshi", "Baby of Asha Patil")...)
	for text, want := range map[string]string{
		"B/o Sunita Rao": "tolerant", "Baby of Sunita Rao": "tolerant", "Baby Sunita Rao 1 y": "tolerant",
		"Mrs Sunita Rao": "exact", "Baby of Leela Joshi": "exact", "Bo Asha Patil": "exact",
	} {
		hits := i.search(7, text, search.All, search.Full).Hits
		if len(hits) == 0 || hits[0].Match.String() != want {
			t.Errorf("%q: got %+v, want a hit of %s", text, hits, want)
		}
	}
}
