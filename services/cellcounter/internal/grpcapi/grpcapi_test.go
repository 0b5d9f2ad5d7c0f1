package grpcapi_test

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/labplatform/labplatform/pkg/apperr"
	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/pkg/clock"
	cellcounterv1 "github.com/labplatform/labplatform/proto/gen/lab/cellcounter/v1"
	"github.com/labplatform/labplatform/services/cellcounter/internal/configure"
	"github.com/labplatform/labplatform/services/cellcounter/internal/grpcapi"
	"github.com/labplatform/labplatform/services/cellcounter/internal/mapping"
	"github.com/labplatform/labplatform/services/cellcounter/internal/observe"
	"github.com/labplatform/labplatform/services/cellcounter/internal/store/mysql"
	"github.com/labplatform/labplatform/services/cellcounter/internal/store/storetest"
)

type silent struct{}

func (silent) Saved(int, int)             {}
func (silent) Deleted(int)                {}
func (silent) Took(string, time.Duration) {}

func server(t *testing.T, d grpcapi.DefaultScope) *grpcapi.Server {
	t.Helper()
	return over(storetest.Open(t), d)
}

func over(db *sql.DB, d grpcapi.DefaultScope) *grpcapi.Server {
	store := mysql.New(db)
	return grpcapi.New(grpcapi.Deps{
		Configurer: configure.New(store, clock.System{}, silent{}), Counter: observe.New(store, clock.System{}),
		DefaultScope: d, Clock: clock.System{}, Observer: silent{},
	})
}

var (
	user      = authn.Principal{Kind: authn.Session, SessionType: authn.LabUser, LabID: 12, LabUserID: 77, Permissions: []string{"cell_counter_configure"}}
	reader    = authn.Principal{Kind: authn.Session, SessionType: authn.LabUser, LabID: 12, LabUserID: 80}
	other     = authn.Principal{Kind: authn.Session, SessionType: authn.LabUser, LabID: 13, Permissions: []string{"cell_counter_configure"}}
	admin     = authn.Principal{Kind: authn.Session, SessionType: authn.LabUser, LabID: 12, IsGlobalAdmin: true}
	support   = authn.Principal{Kind: authn.Session, SessionType: authn.Support, LabID: 12}
	homeless  = authn.Principal{Kind: authn.Session, SessionType: authn.LabUser, Permissions: []string{"cell_counter_configure"}}
	homelessA = authn.Principal{Kind: authn.Session, SessionType: authn.LabUser, IsGlobalAdmin: true}
)

func as(t *testing.T, p authn.Principal) context.Context {
	t.Helper()
	return authn.NewContext(t.Context(), p)
}

func ptr[T any](v T) *T { return &v }

func whole(key string, place int32, cell int64) *cellcounterv1.MappingInput {
	return &cellcounterv1.MappingInput{Key: &key, CellId: &cell, ReportFormatIndex: &place, ReportFormatOrder: &place}
}

// The test makes each kind of login write mappings of test 55, which belongs to laboratory 12.
func TestWhoMayWriteWhat(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		who         authn.Principal
		defaults    grpcapi.DefaultScope
		query, body *int64
		refused     bool
		kind        apperr.Kind // kind of the expected error
		reason      string
	}{
		"their own laboratory":                   {user, "global", nil, ptr(int64(12)), false, 0, ""},
		"their own laboratory by the query":      {user, "global", ptr(int64(12)), nil, false, 0, ""},
		"both the same":                          {user, "global", ptr(int64(12)), ptr(int64(12)), false, 0, ""},
		"both and different":                     {user, "global", ptr(int64(12)), ptr(int64(13)), true, apperr.Invalid, "INVALID_ARGUMENT"},
		"without permission":                     {reader, "global", nil, ptr(int64(12)), true, apperr.Forbidden, "NOT_ALLOWED"},
		"support without permission":             {support, "global", nil, ptr(int64(12)), true, apperr.Forbidden, "NOT_ALLOWED"},
		"another laboratory":                     {user, "global", nil, ptr(int64(13)), true, apperr.Forbidden, "OTHER_LABORATORY"},
		"the defaults as a user":                 {user, "global", nil, nil, true, apperr.Forbidden, "GLOBAL_ADMINISTRATOR_REQUIRED"},
		"the defaults as a global administrator": {admin, "global", nil, nil, false, 0, ""},
		"a global administrator for another":     {admin, "global", nil, ptr(int64(13)), true, apperr.NotFound, "TEST_NOT_FOUND"},
		"no lab_id, session as default":          {user, "session", nil, nil, false, 0, ""},
		"a session without a laboratory":         {homeless, "global", nil, ptr(int64(12)), true, apperr.Invalid, "NO_LABORATORY"},
		"a negative laboratory":                  {user, "global", ptr(int64(-1)), nil, true, apperr.Invalid, "INVALID_ARGUMENT"},
		"laboratory 0":                           {user, "global", ptr(int64(0)), nil, true, apperr.Invalid, "INVALID_ARGUMENT"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := server(t, test.defaults)
			out, err := s.SaveMappings(as(t, test.who), &cellcounterv1.SaveMappingsRequest{TestId: 55, LabId: test.query,
				Body: &cellcounterv1.MappingsBody{LabId: test.body, Mappings: []*cellcounterv1.MappingInput{whole("a", 1, 1)}}})
			if !test.refused {
				if err != nil || out.GetInserted() != 1 || len(out.GetMappings()) != 1 {
					t.Fatalf("SaveMappings = %v, %v, want one inserted mapping", out, err)
				}
				return
			}
			if e, ok := apperr.From(err); !ok || e.Kind != test.kind || e.Reason != test.reason {
				t.Fatalf("SaveMappings = %v, %v, want a refusal with reason %s", out, err, test.reason)
			}
		})
	}
}

func TestWhoMayReadWhat(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		who   authn.Principal
		named *int64
		test  int64
		want  string // the scope, or the reason of the error
	}{
		"their own":                    {reader, nil, 55, "lab"},
		"named":                        {reader, ptr(int64(12)), 55, "lab"},
		"another laboratory":           {reader, ptr(int64(13)), 56, "OTHER_LABORATORY"},
		"support, another laboratory":  {support, ptr(int64(13)), 56, "default"},
		"another laboratory's test":    {other, nil, 55, "TEST_NOT_FOUND"},
		"the platform's test":          {other, nil, 56, "default"},
		"no laboratory":                {homeless, nil, 56, "NO_LABORATORY"},
		"an administrator without one": {homelessA, nil, 56, "default"},
		"test 0":                       {reader, nil, 0, "INVALID_ARGUMENT"},
		"a test that is not there":     {reader, nil, 99, "TEST_NOT_FOUND"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := server(t, "global")
			if _, err := s.SaveMappings(as(t, user), &cellcounterv1.SaveMappingsRequest{TestId: 55, Body: &cellcounterv1.MappingsBody{
				LabId: ptr(int64(12)), Mappings: []*cellcounterv1.MappingInput{whole("a", 1, 1)}}}); err != nil {
				t.Fatal(err)
			}
			out, err := s.GetMappings(as(t, test.who), &cellcounterv1.GetMappingsRequest{TestId: test.test, LabId: test.named})
			got := out.GetScope()
			if e, ok := apperr.From(err); ok {
				got = e.Reason
			}
			if got != test.want {
				t.Fatalf("GetMappings = scope or reason %q, error %v, want %q", got, err, test.want)
			}
		})
	}
}

func TestEveryElementAtFaultIsNamed(t *testing.T) {
	t.Parallel()
	in := []*cellcounterv1.MappingInput{
		whole("a", 1, 1),
		whole("Enter", 2, 1),
		{Key: ptr("c"), CellId: ptr(int64(1)), ReportFormatIndex: ptr(int32(3))},
	}
	expectFields(t, in, "1 key: key Enter is reserved", "2 report_format_order: report_format_order is required")
	expectFields(t, []*cellcounterv1.MappingInput{whole("a", 1, 1), whole("b", 9, 1)}, "1 report_format_index: this test has no parameter")
	expectFields(t, []*cellcounterv1.MappingInput{whole("a", 1, 99), whole("b", 2, 3)}, "0 cell_id: there is no cell 99", "1 cell_id: the cell Lymphocyte is disabled")
	expectFields(t, []*cellcounterv1.MappingInput{{Key: ptr("a")}}, "0 cell_id: cell_id is required")
	expectFields(t, nil, "-1 mappings: mappings must have at least one element")
	expectFields(t, []*cellcounterv1.MappingInput{nil}, "0 mappings: an element must be an object")
	many := make([]*cellcounterv1.MappingInput, 501)
	for i := range many {
		many[i] = &cellcounterv1.MappingInput{}
	}
	expectFields(t, many, "-1 mappings: mappings must have at most 500 elements")
}

// A cell that was disabled after its mapping must stay in the mapping. No other mapping may get it.
func TestADisabledCellStaysWhereItIs(t *testing.T) {
	t.Parallel()
	db := storetest.Open(t)
	s := over(db, "global")
	save := func(in ...*cellcounterv1.MappingInput) error {
		_, err := s.SaveMappings(as(t, user), &cellcounterv1.SaveMappingsRequest{TestId: 55,
			Body: &cellcounterv1.MappingsBody{LabId: ptr(int64(12)), Mappings: in}})
		return err
	}
	storetest.Exec(t, db, "UPDATE cells SET is_disable = 0 WHERE id = 3")
	if err := save(whole("a", 1, 3), whole("c", 3, 1)); err != nil {
		t.Fatal(err)
	}
	storetest.Exec(t, db, "UPDATE cells SET is_disable = 1 WHERE id = 3")
	for name, refused := range map[string]error{
		"another key of the same cell":     save(whole("b", 2, 3)),
		"a key that counted another one":   save(whole("c", 3, 3)),
		"beside a mapping that may remain": save(whole("a", 1, 3), whole("b", 2, 3)),
	} {
		if e, _ := apperr.From(refused); e == nil || !strings.Contains(fmt.Sprint(e.Fields), "is disabled") {
			t.Errorf("%s: SaveMappings = %v, want a refusal of the disabled cell", name, refused)
		}
	}
	for name, admitted := range map[string]error{
		"the mapping again":        save(whole("a", 1, 3)),
		"its key at another place": save(whole("a", 4, 3)),
		"its place by another key": save(whole("z", 4, 3)),
	} {
		if admitted != nil {
			t.Errorf("%s: SaveMappings = %v, want no error", name, admitted)
		}
	}
}

func expectFields(t *testing.T, in []*cellcounterv1.MappingInput, want ...string) {
	t.Helper()
	s := server(t, "global")
	_, err := s.SaveMappings(as(t, user), &cellcounterv1.SaveMappingsRequest{TestId: 55,
		Body: &cellcounterv1.MappingsBody{LabId: ptr(int64(12)), Mappings: in}})
	e, ok := apperr.From(err)
	if !ok || e.Kind != apperr.Invalid || len(e.Fields) != len(want) {
		t.Fatalf("SaveMappings = %+v, want an error with the fields %q", err, want)
	}
	for i, f := range e.Fields {
		if got := strings.Join([]string{itoa(f.Index), " ", f.Name, ": ", f.Message}, ""); !strings.HasPrefix(got, want[i]) {
			t.Errorf("field error = %q, want %q", got, want[i])
		}
	}
	view, err := s.GetMappings(as(t, user), &cellcounterv1.GetMappingsRequest{TestId: 55})
	if err != nil || len(view.GetMappings()) != 0 {
		t.Fatalf("mappings after a refused write = %v, %v, want none", view, err)
	}
}

func itoa(n int) string {
	if n < 0 {
		return "-1"
	}
	return string(rune('0' + n))
}

func TestPatchNamesTheParameterByItsFormat(t *testing.T) {
	t.Parallel()
	s := server(t, "global")
	patch := func(in ...*cellcounterv1.MappingInput) (*cellcounterv1.PatchMappingsResponse, error) {
		return s.PatchMappings(as(t, user), &cellcounterv1.PatchMappingsRequest{TestId: 55, LabId: ptr(int64(12)),
			Body: &cellcounterv1.MappingsBody{Mappings: in, TargetCount: ptr(int32(200))}})
	}
	out, err := patch(&cellcounterv1.MappingInput{Key: ptr("n"), CellId: ptr(int64(1)), ReportFormatId: ptr(int64(5504))})
	if err != nil || out.GetInserted() != 1 || out.GetMappings()[0].GetReportFormatIndex() != 4 || !out.GetMappings()[0].GetIncludeInTotal() {
		t.Fatalf("PatchMappings of a new key = %v, %v, want one mapping at index 4, in the total", out, err)
	}
	out, err = patch(&cellcounterv1.MappingInput{Key: ptr("n"), CellId: ptr(int64(2)), IncludeInTotal: ptr(false)})
	if err != nil || out.GetUpdated() != 1 || out.GetMappings()[0].GetCellId() != 2 || out.GetMappings()[0].GetIncludeInTotal() {
		t.Fatalf("PatchMappings of a mapped key = %v, %v, want cell 2, outside the total", out, err)
	}
	if _, err = patch(&cellcounterv1.MappingInput{Key: ptr("n"), ReportFormatId: ptr(int64(5601))}); err == nil ||
		!strings.Contains(err.Error(), "report_format_id 5601 does not belong to this test") {
		t.Fatalf("PatchMappings with the format of another test = %v, want an error that names it", err)
	}
	if _, err = patch(&cellcounterv1.MappingInput{CellId: ptr(int64(1))}); err == nil || !strings.Contains(err.Error(), "give a key") {
		t.Fatalf("PatchMappings without a key = %v, want an error that requires a key", err)
	}
	view, err := s.GetMappings(as(t, user), &cellcounterv1.GetMappingsRequest{TestId: 55})
	if err != nil || view.GetTargetCount() != 200 {
		t.Fatalf("GetMappings = %v, %v, want the target 200", view, err)
	}
}

func TestALaboratoryStartsFromACopyOfTheDefaults(t *testing.T) {
	t.Parallel()
	s := server(t, "global")
	save := func(p authn.Principal, lab *int64, copyDefaults bool, in ...*cellcounterv1.MappingInput) *cellcounterv1.SaveMappingsResponse {
		t.Helper()
		out, err := s.SaveMappings(as(t, p), &cellcounterv1.SaveMappingsRequest{TestId: 55,
			Body: &cellcounterv1.MappingsBody{LabId: lab, CopyDefaults: copyDefaults, Mappings: in}})
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	save(admin, nil, false, whole("a", 1, 1), whole("b", 2, 2))
	out := save(user, ptr(int64(12)), true, whole("b", 2, 1), whole("c", 3, 1))
	if out.GetInserted() != 3 || out.GetUpdated() != 0 || len(out.GetMappings()) != 3 || out.GetMappings()[1].GetCellId() != 1 {
		t.Fatalf("first write = %v, want 3 inserted mappings, the second with cell 1", out)
	}
	out = save(user, ptr(int64(12)), true, whole("d", 4, 1))
	if out.GetInserted() != 1 || len(out.GetMappings()) != 4 {
		t.Fatalf("second write = %v, want 1 inserted mapping of 4, without a copy of the defaults", out)
	}
}

// The zero owner, of a scope that was never set, can neither read nor write mappings: not the defaults and not those of
// a laboratory.
func TestNobodysMappingsAreNotTheDefaults(t *testing.T) {
	t.Parallel()
	c := configure.New(mysql.New(storetest.Open(t)), clock.System{}, silent{})
	for _, owner := range []mapping.Owner{{}, mapping.Of(authn.LabScope{})} {
		if _, err := c.Read(t.Context(), 56, owner); !apperr.Is(err, apperr.NotFound) {
			t.Errorf("Read for %+v = %v, want NotFound", owner, err)
		}
		if _, err := c.Write(t.Context(), configure.Write{TestID: 56, Owner: owner}); !apperr.Is(err, apperr.NotFound) {
			t.Errorf("Write for %+v = %v, want NotFound", owner, err)
		}
	}
}

func TestTheCorrectionIsByNucleatedRedCellsAndCanBeSwitchedOff(t *testing.T) {
	t.Parallel()
	s := server(t, "global")
	for _, c := range []struct {
		apart     int64 // id of the cell
		corrected bool
		want      float64
	}{{13, false, 8}, {2, false, 10}, {13, true, 10}} {
		out, err := s.ComputeDifferential(as(t, reader), &cellcounterv1.ComputeDifferentialRequest{TestId: 55, Wbc: ptr(10.0),
			WbcIsCorrected: c.corrected, Counts: []*cellcounterv1.CellTally{{CellId: 1, Count: 100},
				{CellId: c.apart, Count: 25, IncludeInTotal: ptr(false)}}})
		if err != nil || out.GetCorrectedWbc() != c.want || out.GetDifferential()[0].GetAbsolute() != c.want {
			t.Errorf("%+v: ComputeDifferential = %v, %v, want the corrected count %v", c, out, err, c.want)
		}
	}
}

// TestNucleatedRedCellsStayOutOfTheTotal maps and counts nucleated red cells (cell 13), first with the documented
// fields only, then with include_in_total. Only the latter may count in the total.
func TestNucleatedRedCellsStayOutOfTheTotal(t *testing.T) {
	t.Parallel()
	s := server(t, "global")
	body := func(in ...*cellcounterv1.MappingInput) *cellcounterv1.MappingsBody {
		return &cellcounterv1.MappingsBody{LabId: ptr(int64(12)), Mappings: in}
	}
	save := func(in ...*cellcounterv1.MappingInput) string {
		out, err := s.SaveMappings(as(t, user), &cellcounterv1.SaveMappingsRequest{TestId: 55, Body: body(in...)})
		return inTotal(out.GetMappings(), out.GetWarnings(), err)
	}
	patch := func(in ...*cellcounterv1.MappingInput) string {
		out, err := s.PatchMappings(as(t, user), &cellcounterv1.PatchMappingsRequest{TestId: 55, Body: body(in...)})
		return inTotal(out.GetMappings(), out.GetWarnings(), err)
	}
	chosen := whole("r", 3, 13)
	chosen.IncludeInTotal = ptr(true)
	smudge := whole("n", 1, 1)
	smudge.IncludeInTotal = ptr(false)
	for _, step := range []struct{ name, got, want string }{
		{"the documented fields", save(whole("n", 1, 1), whole("r", 3, 13)), "n:true r:false"},
		{"with a word", save(chosen), "n:true r:true, warned about 0"},
		{"a patch of something else keeps it", patch(&cellcounterv1.MappingInput{Key: ptr("r"), ReportFormatId: ptr(int64(5502))}), "n:true r:true, warned about 0"},
		{"the documented fields again", save(whole("r", 3, 13)), "n:true r:false"},
		{"a white cell outside the total", save(smudge), "n:false r:false"},
		{"it stays there", save(whole("n", 1, 1)), "n:false r:false"},
		{"another cell joins", save(whole("m", 4, 4)), "m:true n:false r:false"},
		{"their keys are exchanged", save(whole("m", 1, 1), whole("n", 4, 4)), "m:false n:true r:false"},
		{"and back", save(whole("n", 1, 1), whole("m", 4, 4)), "m:true n:false r:false"},
		{"the key counts another cell", patch(&cellcounterv1.MappingInput{Key: ptr("r"), CellId: ptr(int64(2))}), "m:true n:false r:true"},
		{"and the first one again", patch(&cellcounterv1.MappingInput{Key: ptr("r"), CellId: ptr(int64(13))}), "m:true n:false r:false"},
	} {
		if step.got != step.want {
			t.Errorf("%s: %s, want %s", step.name, step.got, step.want)
		}
	}
	tally := &cellcounterv1.CellTally{CellId: 13, Count: 10}
	in := &cellcounterv1.ComputeDifferentialRequest{TestId: 55, Wbc: ptr(12.0),
		Counts: []*cellcounterv1.CellTally{{CellId: 1, Count: 60}, {CellId: 3, Count: 30}, tally}, Decimals: 1}
	out, err := s.ComputeDifferential(as(t, reader), in)
	if err != nil || out.GetTotal() != 90 || out.GetDifferential()[0].GetPercent() != 66.7 || out.GetCorrectedWbc() != 10.8 || len(out.GetWarnings()) != 0 {
		t.Errorf("ComputeDifferential = %v, %v; want 66.7 %% of 90 and a corrected count of 10.8", out, err)
	}
	tally.IncludeInTotal = ptr(true)
	if out, err = s.ComputeDifferential(as(t, reader), in); err != nil || out.GetTotal() != 100 || out.GetCorrectedWbc() != 12 || len(out.GetWarnings()) != 1 {
		t.Errorf("ComputeDifferential in the total = %v, %v; want 100 cells, 12, and a warning", out, err)
	}
}

func inTotal(mappings []*cellcounterv1.Mapping, warnings []*cellcounterv1.Warning, err error) string {
	if err != nil {
		return err.Error()
	}
	var texts []string
	for _, m := range mappings {
		texts = append(texts, fmt.Sprint(m.GetKey(), ":", m.GetIncludeInTotal()))
	}
	slices.Sort(texts)
	text := strings.Join(texts, " ")
	for _, w := range warnings {
		text += fmt.Sprint(", warned about ", w.GetIndex())
	}
	return text
}

func TestAMistakeIsTakenBack(t *testing.T) {
	t.Parallel()
	s := server(t, "global")
	lab := ptr(int64(12))
	save := func(who authn.Principal, lab *int64, in ...*cellcounterv1.MappingInput) {
		t.Helper()
		if _, err := s.SaveMappings(as(t, who), &cellcounterv1.SaveMappingsRequest{TestId: 55,
			Body: &cellcounterv1.MappingsBody{LabId: lab, Mappings: in}}); err != nil {
			t.Fatal(err)
		}
	}
	save(admin, nil, whole("a", 1, 1))
	save(user, lab, whole("o", 1, 1), whole("ö", 2, 2))
	left, err := s.DeleteMapping(as(t, user), &cellcounterv1.DeleteMappingRequest{TestId: 55, LabId: lab, Key: "O"})
	if err != nil || len(left.GetMappings()) != 1 || left.GetMappings()[0].GetKey() != "ö" {
		t.Errorf("DeleteMapping of O = %v, %v, want only ö left", left, err)
	}
	if _, err := s.DeleteMapping(as(t, user), &cellcounterv1.DeleteMappingRequest{TestId: 55, LabId: lab, Key: "o"}); !apperr.Is(err, apperr.NotFound) {
		t.Errorf("a key that is not mapped: %v", err)
	}
	patched, err := s.PatchMappings(as(t, user), &cellcounterv1.PatchMappingsRequest{TestId: 55, LabId: lab,
		Body: &cellcounterv1.MappingsBody{TargetCount: ptr(int32(200))}})
	if err != nil || len(patched.GetMappings()) != 1 {
		t.Errorf("the target alone: %v %v", patched, err)
	}
	if _, err := s.ResetMappings(as(t, reader), &cellcounterv1.ResetMappingsRequest{TestId: 55, LabId: lab}); !apperr.Is(err, apperr.Forbidden) {
		t.Errorf("without permission: %v", err)
	}
	if _, err := s.ResetMappings(as(t, admin), &cellcounterv1.ResetMappingsRequest{TestId: 55}); !apperr.Is(err, apperr.Invalid) {
		t.Errorf("the defaults themselves: %v", err)
	}
	for _, confirm := range []*string{nil, ptr(""), ptr("yes")} { // the request for the key . arrives like this
		if _, err := s.ResetMappings(as(t, user), &cellcounterv1.ResetMappingsRequest{TestId: 55, LabId: lab, Confirm: confirm}); !apperr.Is(err, apperr.Invalid) {
			t.Errorf("ResetMappings with confirm %v = %v, want Invalid", confirm, err)
		}
	}
	save(user, lab, whole("/", 3, 1))
	named, err := s.ResetMappings(as(t, user), &cellcounterv1.ResetMappingsRequest{TestId: 55, LabId: lab, Key: ptr("/")})
	if err != nil || named.GetDeleted() != 1 || len(named.GetMappings()) != 1 || named.GetMappings()[0].GetKey() != "ö" {
		t.Errorf("ResetMappings of the key / = %v, %v, want only ö left", named, err)
	}
	if _, err := s.ResetMappings(as(t, user), &cellcounterv1.ResetMappingsRequest{TestId: 55, LabId: lab, Key: ptr("/")}); !apperr.Is(err, apperr.NotFound) {
		t.Errorf("ResetMappings of an unmapped key = %v, want NotFound", err)
	}
	for _, deleted := range []int32{1, 0} {
		out, err := s.ResetMappings(as(t, user), &cellcounterv1.ResetMappingsRequest{TestId: 55, LabId: lab, Confirm: ptr("reset")})
		if err != nil || out.GetDeleted() != deleted || len(out.GetMappings()) != 1 || out.GetMappings()[0].GetKey() != "a" || out.GetTargetCount() != 100 {
			t.Errorf("ResetMappings = %v, %v, want %d deleted and the default key a", out, err, deleted)
		}
	}
}
