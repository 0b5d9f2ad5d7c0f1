package reconcile_test

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/pkg/clock"
	"github.com/labplatform/labplatform/services/cdc/internal/document"
	"github.com/labplatform/labplatform/services/cdc/internal/projection"
	"github.com/labplatform/labplatform/services/cdc/internal/reconcile"
	"github.com/labplatform/labplatform/services/cdc/internal/store/enginetest"
	"github.com/labplatform/labplatform/services/cdc/internal/store/mysql"
)

func reconciler(p *enginetest.Platform, target string) *reconcile.Reconciler {
	return reconcile.New(reconcile.Deps{Rows: p.Rows, Scope: mysql.Laboratory, Documents: p.Index, Users: p.Users, Writer: p.Writer,
		Target: target, Config: reconcile.Config{Settle: 50 * time.Millisecond, Looks: 3}})
}

func scope(t *testing.T, lab int64) authn.LabScope {
	t.Helper()
	s, err := mysql.Laboratory(lab)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func kinds(result reconcile.Result) []string {
	var all []string
	for _, d := range result.Differences {
		all = append(all, fmt.Sprintf("%d %s", d.UserID, d.Kind))
	}
	return all
}

// spoiled returns a platform whose index was correct and then damaged.
func spoiled(t *testing.T) *enginetest.Platform {
	t.Helper()
	p := enginetest.New(t)
	p.Patients(7, 1, 20)
	p.Patients(8, 21, 40)
	p.Patients(1, 41, 1241) // more than one page
	p.Exec("UPDATE userDetails SET isDeleted = 1 WHERE id = 5")
	p.Exec("UPDATE userDetails SET labId_id = 8 WHERE id = 6")
	p.Exec("DELETE FROM userDetails WHERE id = 7")
	p.Recompute(5, 6, 7)
	p.Pump(p.Index.Live())
	return p
}

func (s *suite) row(id int64) projection.Row {
	s.t.Helper()
	rows, err := s.p.Rows.RowsByID(s.t.Context(), []int64{id})
	if err != nil || len(rows) != 1 {
		s.t.Fatalf("row of %d: %v, error %v", id, rows, err)
	}
	return rows[0]
}

type suite struct {
	t *testing.T
	p *enginetest.Platform
}

func (s *suite) write(ops ...document.Op) {
	s.t.Helper()
	if _, err := s.p.Writer.Write(s.t.Context(), s.p.Index.Live(), ops); err != nil {
		s.t.Fatal(err)
	}
}

func TestEveryKindOfDifferenceIsFoundAndRepaired(t *testing.T) {
	t.Parallel()
	p := spoiled(t)
	s := &suite{t, p}
	r := reconciler(p, p.Index.Live())
	maker := document.NewMaker(document.RevVersions{})
	for _, lab := range []int64{7, 8, 1} {
		if result, err := r.Compare(t.Context(), scope(t, lab), func(reconcile.Count) {}); err != nil || len(result.Differences)+result.Unsettled != 0 || result.Patients == 0 {
			t.Fatalf("before: %+v, error %v", result, err)
		}
	}

	removed := s.row(41)
	s.write(maker.Delete(41, 1, removed.Rev)) // missing, and its tombstone has the higher version
	p.Exec("UPDATE user_meta SET rev = rev + 10 WHERE user_id = 42")
	ahead := s.row(43)
	ahead.Rev += 1_000_000_000
	s.write(maker.Own(&ahead)) // the document is newer than the row
	content := maker.Own(&projection.Row{UserID: 44, LabID: 1, Rev: s.row(44).Rev, FullName: "Someone Else"})
	s.write(content)
	p.Exec("UPDATE userDetails SET fullName = 'Renamed' WHERE id = 45")
	p.Exec("INSERT INTO userDetails (id, labId_id, fullName) VALUES (2000, 1, 'Unseen')")
	p.Exec("DELETE FROM user_meta WHERE user_id = 46")
	stranger := projection.Row{UserID: 3000, LabID: 1, Rev: 77, FullName: "Stranger"}
	s.write(maker.Own(&stranger))
	elsewhere := projection.Row{UserID: 21, LabID: 1, Rev: s.row(21).Rev, FullName: "Lives in 8"}
	s.write(maker.Own(&elsewhere))
	astray := maker.Own(&projection.Row{UserID: 47, LabID: 1, Rev: 99})
	astray.Route = 8
	s.write(astray)
	forgotten := projection.Row{UserID: 4000, LabID: 77, Rev: 5, FullName: "No one knows the laboratory"}
	s.write(maker.Own(&forgotten))

	result, err := r.Compare(t.Context(), scope(t, 1), func(reconcile.Count) {})
	want := []string{"21 orphan", "41 missing", "42 stale", "43 stale", "44 content", "45 projection", "46 projection", "46 orphan", "47 wrong_route",
		"2000 projection", "3000 orphan"}
	got := kinds(result)
	slices.Sort(want)
	slices.Sort(got)
	if diff := cmp.Diff(want, got); err != nil || diff != "" || result.Unsettled != 0 {
		t.Fatalf("error %v, %d unsettled: %s", err, result.Unsettled, diff)
	}

	for range 2 { // repairs are idempotent
		if refused, err := r.Repair(t.Context(), result.Differences); err != nil || len(refused) > 0 {
			t.Fatal(refused, err)
		}
	}
	p.Pump(p.Index.Live())
	var out bytes.Buffer
	total, err := r.Report(t.Context(), reconcile.Options{Repair: true, Wait: time.Minute}, &out, clock.System{})
	if err != nil || total.Differences != 0 || total.Unsettled != 0 || total.Repaired != 1 {
		t.Fatalf("%+v, error %v\n%s", total, err, &out)
	}
	if last := out.String()[strings.LastIndex(strings.TrimSpace(out.String()), "\n")+1:]; last != "4 laboratories, 1,242 patients, 0 differences, 1 sent for repair\n" {
		t.Errorf("last line %q", last)
	}
	if strings.Contains(out.String(), "Patient") || strings.Contains(out.String(), "Stranger") {
		t.Errorf("the report shows data of patients:\n%s", &out)
	}
}

func TestWhatIsOnItsWayIsNoDifference(t *testing.T) {
	t.Parallel()
	p := enginetest.New(t)
	p.Patients(7, 1, 50)
	r := reconciler(p, p.Index.Live())
	arrived := false
	result, err := r.Compare(t.Context(), scope(t, 7), func(reconcile.Count) { // these changes arrive after the first page
		if !arrived {
			p.Pump(p.Index.Live())
		}
		arrived = true
	})
	if err != nil || !arrived || len(result.Differences)+result.Unsettled != 0 || result.Patients != 50 || result.Documents != 0 {
		t.Errorf("%+v, error %v", result, err)
	}
}

// TestARefusedDocumentIsToldAndGetsNoNewRevision checks that comparisons report a rejected document without a new
// revision, which would become another dead letter in the pipeline.
func TestARefusedDocumentIsToldAndGetsNoNewRevision(t *testing.T) {
	t.Parallel()
	p := enginetest.New(t)
	p.Patients(7, 1, 5)
	p.Exec("UPDATE user_meta SET sample_ids = JSON_ARRAY(REPEAT('S', 40000)), rev = rev + 1 WHERE user_id = 2")
	p.Pump(p.Index.Live())
	s := &suite{t, p}
	s.write(document.NewMaker(document.RevVersions{}).Delete(3, 7, s.row(3).Rev))
	before := s.row(2).Rev
	r := reconcile.New(reconcile.Deps{Rows: reconcile.IndexOnly(p.Rows), Scope: mysql.Laboratory, Documents: p.Index, Users: p.Users, Writer: p.Writer,
		Target: p.Index.Live(), Config: reconcile.Config{Settle: 50 * time.Millisecond, Looks: 3}})
	for range 2 {
		var out bytes.Buffer
		total, err := r.Report(t.Context(), reconcile.Options{Repair: true}, &out, clock.System{})
		if err != nil || total.Refused != 1 || !strings.Contains(out.String(), fmt.Sprintf("patient 2: the index refuses revision %d: document_parsing_exception", before)) {
			t.Errorf("%+v, error %v\n%s", total, err, &out)
		}
		p.Pump(p.Index.Live())
	}
	if after := s.row(2).Rev; after != before {
		t.Errorf("revision %d became %d", before, after)
	}
	result, err := r.Compare(t.Context(), scope(t, 7), func(reconcile.Count) {})
	if diff := cmp.Diff([]string{"2 missing"}, kinds(result)); err != nil || diff != "" {
		t.Errorf("error %v: %s", err, diff)
	}
}

func TestALostIndexIsAFault(t *testing.T) {
	t.Parallel()
	p := enginetest.New(t)
	p.Patients(7, 1, 3)
	if err := p.Index.Drop(t.Context(), p.Index.Alias+"_v1"); err != nil {
		t.Fatal(err)
	}
	_, err := reconciler(p, p.Index.Live()).Compare(t.Context(), scope(t, 7), func(reconcile.Count) {})
	if err == nil || errors.Is(err, t.Context().Err()) {
		t.Errorf("error %v", err)
	}
}

func BenchmarkCompare(b *testing.B) {
	p := enginetest.New(b)
	const patients = 20_000
	p.Patients(7, 1, patients)
	p.Pump(p.Index.Live())
	r := reconciler(p, p.Index.Live())
	s, err := mysql.Laboratory(7)
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if result, err := r.Compare(b.Context(), s, func(reconcile.Count) {}); err != nil || len(result.Differences) != 0 {
			b.Fatal(result, err)
		}
	}
	b.ReportMetric(patients*float64(b.N)/b.Elapsed().Seconds(), "patients/s")
}
