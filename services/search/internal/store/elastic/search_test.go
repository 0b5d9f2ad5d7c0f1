package elastic_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/labplatform/labplatform/services/cdc/indextest"
	"github.com/labplatform/labplatform/services/search/internal/search"
)

type rows = []indextest.Row

// people returns patients 1, 2, … with the given names.
func people(names ...string) rows {
	var all rows
	for n, name := range names {
		all = append(all, indextest.Row{UserID: int64(n + 1), FullName: name})
	}
	return all
}

func phones(numbers ...string) rows {
	var all rows
	for n, number := range numbers {
		all = append(all, indextest.Row{UserID: int64(n + 1), FullName: "Someone", Contact: number})
	}
	return all
}

// expectation is a text, optionally with a key and a colon before it, and the expected patients in order.
type expectation struct {
	text string
	want []int64
	key  search.Key
}

func finds(text string, want ...int64) expectation {
	return expectation{text: text, want: want, key: search.All}
}

func (e expectation) by(key search.Key) expectation {
	e.key = key
	return e
}

func TestATextFindsWhomItMeansInTheOrderOfCloseness(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		rows rows
		want []expectation
	}{
		"names by closeness": {people("Rahul Sharmaji", "Sharma Rahul", "Rahul Sharma", "Rahul Kumar Sharma", "Rahuldev Sharmaji", "Rahool Sarma", "Rohit Verma"),
			[]expectation{finds("rahul sharma", 3, 2, 4, 1, 5, 6), finds("RAHUL  SHARMA", 3, 2, 4, 1, 5, 6), finds(" rahul sha ", 1, 2, 3, 4, 5), finds("sharma", 2, 3, 4, 1, 5, 6)}},
		"diacritics and case": {people("José Müller", "JOSE MULLER", "Łukasz Weiß"),
			[]expectation{finds("jose muller", 1, 2), finds("JOSÉ MÜLLER", 1, 2), finds("Jose\u0301 Mu\u0308ller", 1, 2), finds("lukasz weiss", 3), finds("ＪＯＳＥ", 1, 2)}},
		"other scripts": {people("王小明", "राहुल शर्मा", "Ольга Иванова"), []expectation{finds("王小明", 1), finds("小明", 1), finds("राहुल", 2), finds("शर्मा राहुल", 2), finds("ольга", 3), finds("ИВАН", 3)}},
		"apostrophes":   {people("Maria D'Souza", "O Brien"), []expectation{finds("d'souza", 1), finds("dsouza", 1), finds("o brien", 2)}},
		"dots": {people("Dr.Rahul Sharma", "S.Kumar", "K. R. Nair"),
			[]expectation{finds("rahul", 1), finds("rahul sharma", 1), finds("kumar", 2), finds("s kumar", 2), finds("s.kumar", 2), finds("S. Kumar", 2), finds("k.r.nair", 3), finds("nayar", 3)}},
		"blanks around names": {people("  Rahul   Sharma ", "Rahul Sharma Kumar"), []expectation{finds("rahul sharma", 1, 2)}},
		"beginnings of words": {people("Rahul Sharma", "Rahat Sen", "Sharmila Rahman"),
			[]expectation{finds("rah", 1, 2, 3), finds("rah sha", 1, 3), finds("sha rah", 1, 3), finds("rahul sh", 1), finds("s", 1, 2, 3), finds("ahul", 1), finds("harma", 1), finds("hul"), finds("arma")}},
		"the last word may be a beginning": {people("Rahulan Sharma", "Rahul Sharman", "Rahul Amit Sharman"), []expectation{finds("rahul sharma", 2, 3, 1)}},
		"by sound": {people("Mohammed Khan", "Muhammad Khan", "Mohamad Shaikh", "Mahesh Khanna", "Lakshmi Iyer"),
			[]expectation{finds("muhammad khan", 2, 1), finds("Mohammad", 1, 2, 3), finds("mohamed sheikh", 3), finds("laxmi ayyar", 5), finds("muhamad sh", 3)}},
		"typing errors, when nothing else is found": {people("Rahul Sharma", "Priyanka Deshpande", "Om Jain", "Ram Das"),
			[]expectation{finds("rhaul sharma", 1), finds("priynaka", 2), finds("deshpnade priyanka", 2), finds("ravul"), finds("ravul sharma", 1), finds("rhaul", 1), finds("om jian", 3), finds("rxm"), finds("dxs"), finds("xahul"), finds("sharma xahul", 1), finds("sharma xyhul")}},
		"typing errors and sounds": {people("Girish Rao", "Ghosh Roy", "Muhammad", "Mohammed", "Mahmud"),
			[]expectation{finds("giish", 1), finds("muhamad", 3, 4), finds("ghosh", 2)}},
		"typing errors below better hits": {people("Kiran Rao", "Karan Rao", "Kirtan Rao"), []expectation{finds("kirtan rao", 3, 1), finds("kirtan", 3)}},
		"typing errors beside a number": {rows{{UserID: 1, FullName: "Rahul Sharma", Contact: "9876543210"}, {UserID: 2, FullName: "Rahul Sharma", Contact: "9000000000"}},
			[]expectation{finds("rhaul 98765", 1), finds("rahul 98765", 1), finds("rahul 97865")}},
		"telephones, whole": {phones("9876543210", "+91 98765 43210", "09876543210", "91-9876543210", "44 9876543210", "9876543211"),
			[]expectation{finds("9876543210", 1, 2, 3, 4, 5), finds("+91 98765-43210", 2, 4, 1, 3, 5), finds("0 98765 43210", 3, 1, 2, 4, 5), finds("(98765) 43210", 1, 2, 3, 4, 5), finds("919876543210", 2, 4, 1, 3, 5), finds("449876543210", 5, 1, 3, 2, 4)}},
		"telephones, with the code of their country": {phones("0990815777", "512345678", "0512345679", "9876543210"),
			[]expectation{finds("+84990815777", 1), finds("0084 990 815 777", 1).by("contact"), finds("0512345678", 2), finds("+966 512345678", 2), finds("966512345679", 3), finds("+98765432109")}},
		"identifiers, as they are labelled and scanned": {rows{{UserID: 1, FullName: "Asha Rao", SampleIDs: []string{"7812000-0"}, LabBillIDs: []int64{20312}, NationalIdentityNumber: "341412341234", DateOfBirth: "1966-08-15"},
			{UserID: 2, FullName: "Ravi Rao", SampleIDs: []string{"S–٧٧١"}, OrderNumbers: []string{"ORD-771"}, LabPatientID: "P-०१२"}},
			[]expectation{finds("S:7812000-0", 1), finds("Acc no 7812000-0", 1), finds("]C07812000-0", 1).by("sample"), finds("INV-20312", 1).by("bill"), finds("aadhar no 3414 1234 1234", 1).by("national_id"),
				finds("15081966", 1), finds("Aug 15, 1966", 1), finds("asha f/60", 1), finds("s-771", 2).by("sample"), finds("p-012", 2).by("patient_id"), finds("P-०१२", 2), finds("]C0ORD–٧٧١", 2).by("order"),
				finds("INV-20313").by("bill"), finds("16081966")}},
		"telephones, as they are copied": {phones("९८७६५४३२१०", "7775945807"),
			[]expectation{finds("9876543210", 1), finds("९८७६५४३२१०", 1), finds("٧٧٧٥٩٤٥٨٠٧", 2), finds("７７７５９４５８０７", 2), finds("77759–45807", 2), finds("\u202a7775945807\u202c", 2), finds("*45807", 2),
				finds("XXXXX45807", 2).by("contact"), finds("last digits 45807", 2), finds("Mob-7775945807", 2).by("contact"), finds("Someone-7775945807", 2), finds("Anybody-7775945807")}},
		"telephones, the last digits": {phones("9876543210", "+91 9123443210", "0221234567"),
			[]expectation{finds("3210", 1, 2), finds("43210", 1, 2), finds("543210", 1), finds("6543210", 1), finds("76543210", 1), finds("876543210", 1), finds("1234567", 3), finds("210"), finds("221234567", 3)}},
		"telephones, the first digits": {phones("9876543210", "+91 9876500000", "09876511111", "0221234567"),
			[]expectation{finds("987", 1, 2, 3), finds("98765", 1, 2, 3), finds("9198765", 2, 1, 3), finds("+91 98765", 2, 1, 3), finds("098765", 3, 1, 2), finds("987654", 1), finds("98"), finds("022", 4), finds("221", 4)}},
		"telephones, the other one":   {rows{{UserID: 1, AlternateContact: "9876543210"}}, []expectation{finds("9876543210", 1), finds("3210", 1), finds("9876543210", 1).by("contact"), finds("9876543210").by("bill")}},
		"no typing errors in numbers": {rows{{UserID: 1, FullName: "A", Contact: "9876543210", LabPatientID: "PATIENT", SampleIDs: []string{"SAMPLE"}, Email: "rahul@x.in"}}, []expectation{finds("9876543201"), finds("patinet"), finds("smaple"), finds("rhaul@x.in"), finds("rahul@x.ni")}},
		"emails":                      {rows{{UserID: 1, FullName: "A", Email: "Rahul.S@Example.in"}, {UserID: 2, FullName: "B", Email: "rahul@example.in"}}, []expectation{finds("rahul@example.in", 2), finds("RAHUL.s@example.IN", 1), finds("rahul", 1, 2), finds("rahul.", 1), finds("example.in"), finds("rahul@", 2).by("email")}},
		"identifiers, whole and their beginning": {rows{{UserID: 501, FullName: "A", LabPatientID: "P-000501"}, {UserID: 502, FullName: "B", LabPatientID: "P-0005012"}, {UserID: 5010, FullName: "C", PassportNo: "K1234567"}, {UserID: 6, FullName: "D", NationalIdentityNumber: "123412341234"}},
			[]expectation{finds("p-000501", 501, 502), finds("P-0005012", 502), finds("P-00", 501, 502), finds("k123", 5010), finds("K1234567", 5010), finds("1234 1234 1234", 6), finds("1234-1234"), finds("000501", 501)}},
		"bills and reports": {rows{{UserID: 1, FullName: "A", BillIDs: []int64{9001, 9002}, LabBillIDs: []int64{301}}, {UserID: 2, FullName: "B", LabReportIDs: []int64{9001}, LrfIDs: []string{"lrf-7"}}},
			[]expectation{finds("9001", 1, 2), finds("90", 1, 2), finds("301", 1), finds("LRF-7", 2), finds("lrf", 2), finds("9001", 2).by("report"), finds("9001", 1).by("bill")}},
		"segments of orders and samples": {rows{{UserID: 1, FullName: "A", OrderNumbers: []string{"ORD-2026-771"}}, {UserID: 2, FullName: "B", SampleIDs: []string{"LAB~771/9"}}, {UserID: 3, FullName: "C", ManualSampleIDs: []string{"M-1", "X-2"}}},
			[]expectation{finds("771", 1, 2), finds("77"), finds("ord-2026", 1), finds("lab", 2), finds("9"), finds("m-2"), finds("x-2", 3), finds("ord-2026-771", 1)}},
		"literals": {rows{{UserID: 1, FullName: "100% Sharma", SampleIDs: []string{"%"}}, {UserID: 2, FullName: "Rahul", SampleIDs: []string{"_*"}}, {UserID: 3, FullName: "Anil", SampleIDs: []string{"A?C"}}},
			[]expectation{finds("%", 1), finds("_", 2), finds("*"), finds("_*", 2), finds("?"), finds("a?c", 3), finds("r%", 2), finds("%rahul%", 2), finds("r%l"), finds("r*l"), finds("ra_ul"), finds(`"rahul"`, 2), finds("a?", 3), finds("%%").by("name"), finds("_____").by("name"), finds("100% sharma", 1), finds(`\`), finds("full_name:rahul"), finds("rahul OR anil"), finds("/.*/")}},
		"an equal identifier before a person of that name": {rows{{UserID: 1, FullName: "Alpha"}, {UserID: 2, FullName: "Bob", SampleIDs: []string{"ALPHA"}}, {UserID: 3, FullName: "Carl", SampleIDs: []string{"ALPHABET"}}}, []expectation{finds("alpha", 2, 1, 3)}},
		"mixed": {rows{
			{UserID: 1, FullName: "Rahul Sharma", Contact: "9876543210", SampleIDs: []string{"S-001"}}, {UserID: 2, FullName: "Rahul Verma", Contact: "9123456780", SampleIDs: []string{"S-002"}},
			{UserID: 3, FullName: "Amit Sharma", Contact: "9876500000", OrderNumbers: []string{"ORD-5"}}},
			[]expectation{finds("rahul 98765", 1), finds("98765 rahul", 1), finds("sharma 98765", 1, 3), finds("sharma S-001", 1), finds("rahul s-00", 1, 2), finds("raul 3210", 1), finds("rah 6780", 2), finds("amit ord-5", 3),
				finds("rahul +91 98765 43210", 1), finds("rahul 98765 sharma", 1), finds("rahul 5555"), finds("sharma s-002")}},
	}
	i := open(t)
	labID := int64(100)
	var all rows
	labs := map[string]int64{}
	for name, c := range cases {
		labID++
		labs[name] = labID
		for _, row := range c.rows {
			row.LabID = labID
			row.UserID += labID * 1_000_000
			all = append(all, row)
		}
	}
	i.Put(all...)
	for name, c := range cases {
		for _, e := range c.want {
			var got []int64
			for _, id := range ids(i.search(labs[name], e.text, e.key, search.Full)) {
				got = append(got, id-labs[name]*1_000_000)
			}
			if diff := cmp.Diff(e.want, got); diff != "" {
				t.Errorf("%s: %q by %s finds %v, want %v", name, e.text, e.key, got, e.want)
			}
		}
	}
}
