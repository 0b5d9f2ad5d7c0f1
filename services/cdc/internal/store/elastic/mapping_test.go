package elastic_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/labplatform/labplatform/pkg/lab/userindex"
	"github.com/labplatform/labplatform/pkg/testkit/property"
	"github.com/labplatform/labplatform/services/cdc/internal/document"
	"github.com/labplatform/labplatform/services/cdc/internal/document/documenttest"
	"github.com/labplatform/labplatform/services/cdc/internal/indexsync"
	"github.com/labplatform/labplatform/services/cdc/internal/projection"
	"github.com/labplatform/labplatform/services/cdc/internal/store/elastic/enginetest"
)

func TestTheRealServerTakesEveryRow(t *testing.T) {
	t.Parallel()
	s := enginetest.Ensured(t)
	encoder := document.NewEncoder()
	version := int64(0)
	ctx := t.Context()
	property.Check(t, func(t *rapid.T) {
		rows := rapid.SliceOfN(documenttest.Rows(), 1, 20).Draw(t, "rows")
		var ops []document.Op
		for i := range rows {
			version++ // rows may have the same id
			ops = append(ops, document.Op{ID: rows[i].UserID, Route: rows[i].LabID, Version: version, Body: encoder.Document(&rows[i])})
		}
		fates, err := s.Bulk(ctx, s.Live(), ops)
		if err != nil {
			t.Fatal(err)
		}
		for i, fate := range fates {
			if fate.Verdict != indexsync.Written {
				t.Fatalf("%+v for %s", fate, ops[i].Body)
			}
		}
	})
}

func TestTheRealServerTakesTheLongestLists(t *testing.T) {
	t.Parallel()
	s := enginetest.Ensured(t)
	row := projection.Row{UserID: 1, LabID: 8, Rev: 1, FullName: strings.Repeat("Venkata ", 50)}
	for i := range int64(5000) {
		row.BillIDs, row.LabReportIDs = append(row.BillIDs, 9_000_000_000+i), append(row.LabReportIDs, 8_000_000_000+i)
		row.OrderNumbers = append(row.OrderNumbers, fmt.Sprintf("ORD-2026/11~%07d", i))
		row.SampleIDs = append(row.SampleIDs, fmt.Sprintf("SMP-2026/11~%07d", i))
	}
	if fate := one(t, s, document.NewMaker(document.RevVersions{}).Own(&row)); fate.Verdict != indexsync.Written {
		t.Fatalf("got %+v, want indexsync.Written", fate)
	}
	if got := s.Found(map[string]any{"term": map[string]any{"bill_ids": "9000004999"}}); !slices.Equal(got, []string{"1"}) {
		t.Errorf("the last of 5,000 bills finds %q", got)
	}
}

// TestSubFieldsFindWhatPeopleType checks which fields of which patients match what users type. The search service
// relies on these results.
func TestSubFieldsFindWhatPeopleType(t *testing.T) {
	t.Parallel()
	s := enginetest.Ensured(t)
	maker := document.NewMaker(document.RevVersions{})
	var ops []document.Op
	for _, row := range []projection.Row{
		{UserID: 501, FullName: "Rahul Sharma", Contact: "+91 98765-43210", LabPatientID: "P-000501", OrderNumbers: []string{"ord-77/2026~b"}, Email: "Rahul@X.in", BillIDs: []int64{9001, 12}},
		{UserID: 502, FullName: "Ráhul Shärma", Contact: "9876543210", LabPatientID: "P-000502", OrderNumbers: []string{"ORD-78/2026~B"}, SampleIDs: []string{"S001"}},
		{UserID: 503, FullName: "Muhammad Venkatasubramanianswamy", Contact: "040-23456789", LabPatientID: "Q-7", PassportNo: "Z1234567"},
	} {
		row.LabID, row.Rev = 8, 1
		ops = append(ops, maker.Own(&row))
	}
	if _, err := s.Bulk(t.Context(), s.Live(), ops); err != nil {
		t.Fatal(err)
	}
	match := func(field, text string) any {
		return map[string]any{"match": map[string]any{field: map[string]any{"query": text, "operator": "and"}}}
	}
	begins := func(field, text string) any { return map[string]any{"prefix": map[string]any{field: text}} }
	term := func(field string, value any) any { return map[string]any{"term": map[string]any{field: value}} }
	for what, c := range map[string]struct {
		query any
		want  []string
	}{
		"words in any order, without marks":  {match("full_name", "sharma RAHUL"), []string{"501", "502"}},
		"a whole name":                       {term("full_name.keyword", "RAHUL sharma"), []string{"501", "502"}},
		"the beginnings of words":            {match("full_name.prefix", "sha rah"), []string{"501", "502"}},
		"one letter":                         {match("full_name.prefix", "v"), []string{"503"}},
		"a beginning of more than 15":        {match("full_name.prefix", "venkatasubramanian"), []string{"503"}},
		"no middle of a word":                {match("full_name.prefix", "hul"), nil},
		"a sound":                            {term("full_name_sounds", "mhmd"), []string{"503"}},
		"a telephone as written":             {term("contact", "+91 98765 43210"), []string{"501"}},
		"its first digits":                   {match("contact.prefix", "+91 987"), []string{"501"}},
		"its last ten, code or no code":      {match("contact.ends", "9876543210"), []string{"501", "502"}},
		"its last four, however written":     {match("contact.ends", "67-89"), []string{"503"}},
		"no middle of a number":              {match("contact.ends", "8765"), nil},
		"a middle of a number":               {begins("contact.ends", "8765"), []string{"501", "502"}},
		"a patient's number in any case":     {term("lab_patient_id", "p-000501"), []string{"501"}},
		"its beginning":                      {begins(userindex.Beginnings, userindex.BeginningForm("lab_patient_id", "p-0005")), []string{"501", "502"}},
		"our own number":                     {term("user_id", "502"), []string{"502"}},
		"its beginning as text":              {begins(userindex.Beginnings, userindex.BeginningForm("user_id", "50")), []string{"501", "502", "503"}},
		"letters where a number is":          {term("user_id", "rahul"), nil},
		"a bill":                             {term("bill_ids", 9001), []string{"501"}},
		"the beginning of a bill":            {begins(userindex.Beginnings, userindex.BeginningForm("bill_ids", "900")), []string{"501"}},
		"an order in any case":               {term("order_numbers", "ord-77/2026~B"), []string{"501"}},
		"a part of it":                       {match("order_numbers.segment", "77"), []string{"501"}},
		"another part":                       {match("order_numbers.segment", "b"), []string{"501", "502"}},
		"parts that belong together":         {match("order_numbers.segment", "78-2026"), []string{"502"}},
		"a sample":                           {term("sample_ids", "s001"), []string{"502"}},
		"a mail address in any case":         {term("email", "rahul@x.IN"), []string{"501"}},
		"a passport":                         {match(userindex.Whole+".prefix", "z12"), []string{"503"}},
		"a number longer than any beginning": {match(userindex.Whole+".prefix", "P-000501-and-much-more-text"), nil},
	} {
		if diff := cmp.Diff(c.want, s.Found(c.query)); diff != "" {
			t.Errorf("%s: got %s, want none", what, diff)
		}
	}
}
