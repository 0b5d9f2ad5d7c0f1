package document_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/labplatform/labplatform/pkg/lab/userindex"
	"github.com/labplatform/labplatform/pkg/testkit/property"
	"github.com/labplatform/labplatform/services/cdc/internal/document"
	"github.com/labplatform/labplatform/services/cdc/internal/document/documenttest"
	"github.com/labplatform/labplatform/services/cdc/internal/projection"
	"github.com/labplatform/labplatform/services/cdc/migrations"
)

var update = flag.Bool("update", false, "write the golden file")

func TestTheFieldsAreTheColumnsOfUserMeta(t *testing.T) {
	t.Parallel()
	want := []string{userindex.Sounds, userindex.Joined, userindex.Misspelled, userindex.Identifiers, userindex.Whole, userindex.Segments, userindex.Phones,
		userindex.VisibleIn, userindex.Shown, userindex.Compacted, userindex.Beginnings}
	column := regexp.MustCompile(`(?m)^\s*(\w+) (?:BIGINT|INT|TINYINT|JSON|DATE|VARCHAR)\b`)
	text, err := migrations.Files.ReadFile("00006_cdc.sql")
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := bytes.Cut(text, []byte("CREATE TABLE IF NOT EXISTS user_meta"))
	table, _, _ = bytes.Cut(table, []byte("ENGINE="))
	for _, found := range column.FindAllSubmatch(table, -1) {
		if name := string(found[1]); name != "source_ts_ms" {
			want = append(want, name)
		}
	}
	got := document.Names()
	slices.Sort(got)
	slices.Sort(want)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// TestTheIndexIsTheAgreedOne compares the index definition with the golden file. A change of the file requires a new
// document.Schema and a rebuild in every installation.
func TestTheIndexIsTheAgreedOne(t *testing.T) {
	t.Parallel()
	body := document.Index(document.Settings{Shards: 5, Replicas: 1, RefreshInterval: 200 * time.Millisecond}, map[string]bool{"user_details": true})
	var pretty bytes.Buffer
	if err := json.Indent(&pretty, body, "", "  "); err != nil {
		t.Fatal(err)
	}
	pretty.WriteByte('\n')
	golden := filepath.Join("testdata", "index.golden.json")
	if *update {
		if err := os.WriteFile(golden, pretty.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), pretty.String()); diff != "" {
		t.Errorf("the mapping changed; go test ./internal/document -update writes the file, and cdc rebuild is needed:\n%s", diff)
	}
}

func TestADocumentHoldsWhatTheRowSays(t *testing.T) {
	t.Parallel()
	branch, bill := int64(3), int64(1_790_000_000_000)
	row := projection.Row{UserID: 501, LabID: 12, FormerLabIDs: []int64{7}, BranchID: &branch, LabPatientID: "P-000501", FullName: "Rahul \"R\" Sharma",
		Contact: "+91 98765-43210", Email: "r@x.in", DateOfBirth: "1990-02-11", OrderNumbers: []string{"ord-1"}, SampleIDs: []string{"s~1/2"},
		BillIDs: []int64{9001, 9002}, LrfIDs: []string{"l1"}, LastBillTime: &bill, Rev: 5, UpdatedAt: 1_790_000_100_000}
	older := `{"user_id":501,"visible_in":"12","lab_id":12,"former_lab_ids":[7],"branch_id":3,"lab_patient_id":"P-000501","full_name":"Rahul \"R\" Sharma",` +
		`"full_name_phonetic":["RHL","R","SRM"],` +
		`"full_name_joined":["r","rahul","rahulr","rahulrsharma","rahulsharma","rrahul","rrs","rsharma","sharma","sharmar","sharmarahul"],` +
		`"full_name_deletions":["ahul","harma","rahl","rahu","rahul","raul","rhul","sarma","shama","shara","sharm","sharma","shrma"],` +
		`"identifier_forms":["lab_patient_id:000501","lab_patient_id:501","lab_patient_id:P000501","lab_patient_id:P501","order_numbers:ORD1",` +
		`"sample_ids:S12","lrf_ids:L1"],"compact_identifiers":["000501","501","L1","ORD1","P000501","P501","S12"],` +
		`"identifier_beginnings":["bill_ids:4:9001","bill_ids:4:9002","lab_patient_id:4:p-00","lab_patient_id:8:p-000501",` +
		`"lrf_ids:4:l1","order_numbers:4:ord-","order_numbers:8:ord-1","sample_ids:4:s~1/","sample_ids:8:s~1/2","user_id:4:501"],"identifiers":["501","9001","9002","ORD-1","P-000501","S~1/2","l1","r@x.in"],` +
		`"identifier_segments":["ORD-1","S~1/2"],"telephones":["919876543210"],"contact":"919876543210","email":"r@x.in","date_of_birth":"1990-02-11","bill_ids":[9001,9002],` +
		`"order_numbers":["ORD-1"],"sample_ids":["S~1/2"],"lrf_ids":["l1"],"last_bill_time":1790000000000,"is_deleted":false,"rev":5,"updated_at":1790000100000}`
	card := `{"user_id":501,"lab_id":12,"branch_id":3,"lab_patient_id":"P-000501","full_name":"Rahul \"R\" Sharma","contact":"919876543210","email":"r@x.in",` +
		`"date_of_birth":"1990-02-11","bill_ids":[9001,9002],"order_numbers":["ORD-1"],"sample_ids":["S~1/2"],"lrf_ids":["l1"],` +
		`"last_bill_time":1790000000000,"updated_at":1790000100000}`
	older = strings.TrimSuffix(older, "}") + `,"card":"` + base64.StdEncoding.EncodeToString([]byte(card)) + `"}`
	present := strings.Replace(older, `"full_name_phonetic":["RHL","R","SRM"]`, `"full_name_sounds":["*r","*rhl","*srm","r","rahl","sarm"]`, 1)
	if diff := cmp.Diff(present, string(document.NewEncoder().Document(&row))); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(older, string(document.NewEncoderOf(document.OldSchema).Document(&row))); diff != "" {
		t.Errorf("of the older schema: %s", diff)
	}
	if got := string(document.NewEncoder().Stub(501, 7, 5)); got != `{"user_id":501,"lab_id":7,"is_deleted":true,"rev":5}` {
		t.Errorf("stub %s", got)
	}
}

// TestADocumentIsReadableInAnyScript checks that numbers are found by digits and dashes of any script, and names by
// their transliteration, while displayed values stay unchanged. An index of the older schema must get the same
// documents as from the previous version.
func TestADocumentIsReadableInAnyScript(t *testing.T) {
	t.Parallel()
	row := projection.Row{UserID: 1, LabID: 7, FullName: "Ольга Ли", Contact: "९८७६५४३२१०", LabPatientID: "P–٠١٢", SampleIDs: []string{"\u202aS1\u202c"}}
	fieldsOf := func(schema int) map[string]any {
		var fields map[string]any
		if err := json.Unmarshal(document.NewEncoderOf(schema).Document(&row), &fields); err != nil {
			t.Fatal(err)
		}
		return fields
	}
	texts := func(all ...any) []any { return all }
	present, older := fieldsOf(document.Schema), fieldsOf(document.OldSchema)
	for field, want := range map[string][2]any{
		"contact":           {"9876543210", nil},
		userindex.Phones:    {texts("9876543210"), nil},
		"lab_patient_id":    {"P–٠١٢", "P–٠١٢"},
		userindex.Whole:     {texts("1", "P-012", "S1"), texts("1", "P–٠١٢", "\u202aS1\u202c")},
		userindex.Sounds:    {texts("*al", "*alk", "*l", "li", "ul_a", "ulg"), nil},
		userindex.OldSounds: {nil, nil},
		userindex.Joined:    {texts("li", "liolga", "ol", "olga", "olgali"), texts("ли", "лиольга", "ол", "ольга", "ольгали")},
	} {
		if diff := cmp.Diff(want[0], present[field]); diff != "" {
			t.Errorf("%s (-want +got):\n%s", field, diff)
		}
		if diff := cmp.Diff(want[1], older[field]); diff != "" {
			t.Errorf("%s of the older schema (-want +got):\n%s", field, diff)
		}
	}
}

func TestEveryDocumentIsJSONWithEachFieldOnce(t *testing.T) {
	t.Parallel()
	encoder := document.NewEncoder()
	property.Check(t, func(t *rapid.T) {
		row := documenttest.Rows().Draw(t, "row")
		decoder := json.NewDecoder(bytes.NewReader(encoder.Document(&row)))
		decoder.UseNumber()
		var fields map[string]any
		if err := decoder.Decode(&fields); err != nil {
			t.Fatal(err)
		}
		for name := range fields {
			if !slices.Contains(document.Names(), name) {
				t.Fatalf("the document has the field %q", name)
			}
		}
		if phone, _ := fields["contact"].(string); phone != userindex.Digits(phone) {
			t.Fatalf("contact %q", phone)
		}
	})
}

func TestARowBecomesBlanksAndThenItsDocument(t *testing.T) {
	t.Parallel()
	maker := document.NewMaker(document.RevVersions{})
	type op struct {
		Route, Version int64
		Body           string
	}
	shape := func(ops []document.Op) []op {
		var out []op
		for _, o := range ops {
			if o.ID != 9 {
				t.Errorf("id %d", o.ID)
			}
			out = append(out, op{o.Route, o.Version, string(o.Body)})
		}
		return out
	}
	live := projection.Row{UserID: 9, LabID: 2, FormerLabIDs: []int64{1, 3}, Rev: 10}
	dead := projection.Row{UserID: 9, LabID: 2, Rev: 10, IsDeleted: true}
	for name, c := range map[string]struct {
		ops  []document.Op
		want []op
	}{
		"a patient who moved": {maker.Write(&live), []op{
			{1, 20, `{"user_id":9,"lab_id":1,"is_deleted":true,"rev":10}`}, {3, 20, `{"user_id":9,"lab_id":3,"is_deleted":true,"rev":10}`},
			{2, 21, `{"user_id":9,"visible_in":"2","lab_id":2,"former_lab_ids":[1,3],"identifier_beginnings":["user_id:4:9"],"identifiers":["9"],"is_deleted":false,"rev":10,"updated_at":0,"card":"` +
				base64.StdEncoding.EncodeToString([]byte(`{"user_id":9,"lab_id":2,"updated_at":0}`)) + `"}`}}},
		"routes that were seen before": {maker.Write(&dead, 5, 2, 5, 0), []op{
			{5, 20, `{"user_id":9,"lab_id":5,"is_deleted":true,"rev":10}`}, {2, 21, `{"user_id":9,"lab_id":2,"is_deleted":true,"rev":10}`}}},
		"a row that was deleted": {maker.Remove(&live, 4), []op{{1, 22, ""}, {3, 22, ""}, {4, 22, ""}, {2, 22, ""}}},
	} {
		if diff := cmp.Diff(c.want, shape(c.ops)); diff != "" {
			t.Errorf("%s: got %s, want none", name, diff)
		}
	}
}

func TestVersionsOfOneRevFollowEachOtherAndStayBelowTheNext(t *testing.T) {
	t.Parallel()
	property.Check(t, func(t *rapid.T) {
		v := document.RevVersions{}
		rev := rapid.Int64Range(1, 1<<60).Draw(t, "rev")
		all := []int64{v.Blank(rev), v.Document(rev), v.Removal(rev), v.Document(rev + 1)}
		if !slices.IsSorted(all) || len(slices.Compact(all)) != 4 {
			t.Fatalf("versions of %d: %d %d %d", rev, v.Blank(rev), v.Document(rev), v.Removal(rev))
		}
		if document.RevOf(v.Blank(rev)) != rev || document.RevOf(v.Document(rev)) != rev {
			t.Fatalf("rev of the versions of %d", rev)
		}
	})
}

func BenchmarkDocument(b *testing.B) {
	encoder := document.NewEncoder()
	row := projection.Row{UserID: 501, LabID: 12, LabPatientID: "P-000501", FullName: "Rahul Kumar Sharma", Contact: "9876543210", Email: "r@x.in",
		BillIDs: []int64{1, 2, 3}, LabReportIDs: []int64{1, 2, 3, 4, 5}, SampleIDs: []string{"S001", "S002"}, OrderNumbers: []string{"ORD-1"}, Rev: 1 << 50}
	for b.Loop() {
		encoder.Document(&row)
	}
}

// TestALongListCostsNoSearchAnything uses the account of a walk-in counter with 5,000 entries in each list. The card,
// which is part of every hit, must stay small.
func TestALongListCostsNoSearchAnything(t *testing.T) {
	t.Parallel()
	r := projection.Row{UserID: 501, LabID: 12, FullName: "Counter Cash", Rev: 5}
	for i := range int64(5000) {
		r.BillIDs, r.LabBillIDs, r.LabReportIDs = append(r.BillIDs, 900_000+i), append(r.LabBillIDs, 30_000+i), append(r.LabReportIDs, 7_000_000+i)
		r.OrderNumbers, r.LrfIDs = append(r.OrderNumbers, fmt.Sprintf("ORD-2026-%06d", i)), append(r.LrfIDs, fmt.Sprintf("LRF%08d", i))
		r.SampleIDs, r.ManualSampleIDs = append(r.SampleIDs, fmt.Sprintf("S26-%07d", i)), append(r.ManualSampleIDs, fmt.Sprintf("M/%05d/26", i))
	}
	body := document.NewEncoder().Document(&r)
	var read struct {
		Card  []byte   `json:"card"`
		Whole []string `json:"identifiers"`
	}
	if err := json.Unmarshal(body, &read); err != nil {
		t.Fatal(err)
	}
	t.Logf("document %d KB, card %d KB", len(body)>>10, len(read.Card)>>10)
	if len(read.Card) > 20<<10 || len(body) > 2500<<10 {
		t.Errorf("document %d KB, card %d KB", len(body)>>10, len(read.Card)>>10)
	}
	var card userindex.Card
	if err := json.Unmarshal(read.Card, &card); err != nil || len(card.BillIDs) != 100 || card.BillIDs[99] != 904_999 {
		t.Errorf("%d bills, error %v", len(card.BillIDs), err)
	}
	for _, id := range []string{"900000", "ORD-2026-000000", "S26-0000000"} { // the oldest entries must be found too
		if !slices.Contains(read.Whole, id) {
			t.Errorf("%s is not found", id)
		}
	}
}
