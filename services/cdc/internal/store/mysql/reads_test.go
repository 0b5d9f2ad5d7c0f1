package mysql_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/labplatform/labplatform/pkg/mysqldb"
	"github.com/labplatform/labplatform/services/cdc/internal/change"
	"github.com/labplatform/labplatform/services/cdc/internal/materialize"
	"github.com/labplatform/labplatform/services/cdc/internal/projection"
	"github.com/labplatform/labplatform/services/cdc/internal/store/mysql"
)

func rowIDs(rows []projection.Row) []int64 {
	var ids []int64
	for _, r := range rows {
		ids = append(ids, r.UserID)
	}
	return ids
}

// laboratories creates patients 1 to 4 in laboratory 12 (4 came from 13, 3 is deleted), 5 and 6 in 13, 7 in 12 but not
// computed, and 8 as a stub.
func laboratories(t *testing.T) *fixture {
	t.Helper()
	b := setup(t)
	b.exec(t, "INSERT INTO labs (id, labName) VALUES (12, 'a'), (99, 'b')")
	for id, lab := range map[int64]int64{1: 12, 2: 12, 3: 12, 4: 13, 5: 13, 6: 13} {
		b.patient(t, id, lab)
	}
	b.recompute(t, targets(1, 2, 3, 4, 5, 6, 8)...)
	b.patient(t, 4, 12)
	b.exec(t, "DELETE FROM userDetails WHERE id = 3")
	b.recompute(t, targets(3, 4)...)
	b.patient(t, 7, 12)
	return b
}

func TestRowsOfALaboratoryComeInPages(t *testing.T) {
	t.Parallel()
	b := laboratories(t)
	var got [][]int64
	for after := int64(0); ; {
		rows, err := b.store.Rows(t.Context(), scope(t, 12), after, 2)
		if err != nil {
			t.Fatal(err)
		}
		if len(rows) == 0 {
			break
		}
		after = rows[len(rows)-1].UserID
		got = append(got, rowIDs(rows))
	}
	if diff := cmp.Diff([][]int64{{1, 2}, {3, 4}}, got); diff != "" {
		t.Fatal(diff)
	}
	rows, err := b.store.RowsByID(t.Context(), []int64{8, 5, 404, 1})
	if err != nil || !slices.Equal(rowIDs(rows), []int64{1, 5}) {
		t.Fatalf("%v, %v", rowIDs(rows), err)
	}
	if rows, err := b.store.RowsByID(t.Context(), nil); err != nil || rows != nil {
		t.Fatal(rows, err)
	}
}

func TestEveryLaboratoryWithPatientsIsNamed(t *testing.T) {
	t.Parallel()
	b := laboratories(t)
	scopes, err := b.store.Laboratories(t.Context())
	var labs []int64
	for _, s := range scopes {
		labs = append(labs, s.LabID())
	}
	if err != nil || !slices.Equal(labs, []int64{12, 13, 99}) {
		t.Fatalf("%v, %v", labs, err)
	}
	ids, err := b.store.SourceUserIDs(t.Context(), scope(t, 12), 1, 2)
	if err != nil || !slices.Equal(ids, []int64{2, 4}) {
		t.Fatalf("%v, %v", ids, err)
	}
	all, err := b.store.UserIDs(t.Context(), 2, 5)
	if err != nil || !slices.Equal(all, []int64{3, 4, 5, 6, 7}) {
		t.Fatalf("%v, %v", all, err)
	}
}

func TestACallerNamesOnlyPatientsOfItsLaboratory(t *testing.T) {
	t.Parallel()
	b := laboratories(t)
	for lab, want := range map[int64][]int64{12: {1, 3, 4, 7}, 13: {4, 5}, 14: nil} {
		got, err := b.store.Members(t.Context(), scope(t, lab), []int64{1, 3, 4, 5, 7, 8, 404})
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("laboratory %d: %v, %v", lab, got, err)
		}
	}
	forced := materialize.Forced{Members: b.store, Users: materialize.NewRecomputer(materialize.Deps{Store: b.store, Late: noLate{t}, Observer: silent{}, Config: materialize.DefaultConfig()})}
	before := b.row(t, 1).Rev
	if n, err := forced.RecomputeIn(t.Context(), scope(t, 13), []int64{1, 5, 404}); err != nil || n != 1 {
		t.Fatalf("got %d, %v, want 1", n, err)
	}
	if b.row(t, 1).Rev != before || b.row(t, 5).Rev <= before {
		t.Error("another patient than the caller's was computed")
	}
	if n, err := forced.RecomputeIn(t.Context(), scope(t, 14), []int64{1}); err != nil || n != 0 {
		t.Fatalf("got %d, %v, want 0", n, err)
	}
}

func TestDifferencesAreNamedAndNothingIsWritten(t *testing.T) {
	t.Parallel()
	b := laboratories(t)
	b.exec(t, "UPDATE user_meta SET full_name = 'other' WHERE user_id = 1")
	b.exec(t, "UPDATE user_meta SET bill_ids = '[77]' WHERE user_id = 3")
	b.exec(t, "DELETE FROM user_meta WHERE user_id = 5")
	b.exec(t, "UPDATE userDetails SET contact = '1' WHERE id = 6")
	got, err := b.store.Differences(t.Context(), []int64{1, 2, 3, 4, 5, 6, 7, 8, 404})
	if err != nil || !slices.Equal(got, []int64{1, 3, 5, 6, 7}) {
		t.Fatalf("%v, %v", got, err)
	}
	var rows int
	if err := b.db.QueryRowContext(t.Context(), "SELECT COUNT(*) FROM user_meta WHERE user_id IN (5, 404)").Scan(&rows); err != nil || rows != 0 {
		t.Fatalf("%d rows, %v", rows, err)
	}
	b.recompute(t, targets(got...)...)
	if got, err := b.store.Differences(t.Context(), []int64{1, 2, 3, 4, 5, 6, 7, 8, 404}); err != nil || len(got) != 0 {
		t.Fatalf("got %v, %v, want 0", got, err)
	}
}

func TestTheOwnerOfARowIsFound(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.patient(t, 1, 12)
	b.bill(t, 5, 1, 12)
	b.report(t, 6, 1, 12)
	for table, row := range map[string]int64{change.UserDetails: 1, change.Billing: 5, change.LabReportRelation: 6} {
		if got, err := b.store.PatientOf(t.Context(), table, row); err != nil || got != 1 {
			t.Errorf("%s: got %d, %v, want 1", table, got, err)
		}
		if got, err := b.store.PatientOf(t.Context(), table, 404); err != nil || got != 0 {
			t.Errorf("%s: got %d, %v, want 0", table, got, err)
		}
	}
	if _, err := b.store.PatientOf(t.Context(), "labs; --", 1); err == nil {
		t.Error("another table was accepted")
	}
}

func TestOfAConnectorsBeatsTheNewestIsKept(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for _, beat := range []struct {
		connector string
		at        int64
	}{{"source-existing", 10}, {"source-existing", 5}, {"source-projection", 7}} {
		if err := b.store.Applied(t.Context(), beat.connector, time.UnixMilli(beat.at)); err != nil {
			t.Fatal(err)
		}
	}
	var got string
	if err := b.db.QueryRowContext(t.Context(), "SELECT GROUP_CONCAT(connector, ' ', beat_at ORDER BY connector) FROM cdc_progress").
		Scan(&got); err != nil || got != "source-existing 10,source-projection 7" {
		t.Fatal(got, err)
	}
}

func TestChangesAreLateUntilTheIndexHoldsThoseOfLate(t *testing.T) {
	t.Parallel()
	b := setup(t)
	late := func(want bool) {
		t.Helper()
		if got, err := b.store.Late(t.Context()); err != nil || got != want {
			t.Fatalf("late %v, error %v", got, err)
		}
	}
	late(true) // nothing is recorded yet
	for before, want := range map[time.Duration]bool{time.Minute: true, time.Second: false} {
		b.exec(t, fmt.Sprintf("REPLACE INTO cdc_freshness (id, complete_at, candidate_at, candidate_applied_at) VALUES (1, %d, 0, 0)",
			time.Now().Add(-before).UnixMilli()))
		late(want)
	}
}

// TestEverythingIsSearchableUpToABeatThatPassedBothHops checks that changes in user_meta count as searchable only after
// a later heartbeat of the second connector has passed.
func TestEverythingIsSearchableUpToABeatThatPassedBothHops(t *testing.T) {
	t.Parallel()
	b := setup(t)
	applied := func(connector string, at int64) {
		if err := b.store.Applied(t.Context(), connector, time.UnixMilli(at)); err != nil {
			t.Fatal(err)
		}
	}
	complete := func() (at int64) {
		if err := b.db.QueryRowContext(t.Context(), "SELECT complete_at FROM cdc_freshness").Scan(&at); err != nil {
			t.Fatal(err)
		}
		return at
	}
	now := func() (ms int64) {
		if err := b.db.QueryRowContext(t.Context(),
			"SELECT TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6)) DIV 1000").Scan(&ms); err != nil {
			t.Fatal(err)
		}
		return ms
	}
	before := now()
	applied("source-projection", before) // there is no candidate yet
	applied("source-existing", before-1000)
	applied("source-existing", before-500) // the first candidate stays, or candidates would be replaced forever
	applied("source-projection", before-1)
	if got := complete(); got != 0 {
		t.Fatalf("complete to %d by a beat that came before the rows", got)
	}
	after := now() + 1
	applied("source-projection", after)
	if got := complete(); got != before-1000 {
		t.Fatalf("complete to %d, want %d", got, before-1000)
	}
	applied("source-projection", after+1)
	applied("source-existing", before-2000) // an old heartbeat is repeated by another process
	applied("source-projection", now()+1000)
	if got := complete(); got != before-1000 {
		t.Fatalf("complete fell to %d", got)
	}
}

// TestAJumpEndsWithTheFirstBeatBehindItAndAWalk checks that after a connector lost its position, every change may be
// missing until a heartbeat from its new position arrives and a full resync starts.
func TestAJumpEndsWithTheFirstBeatBehindItAndAWalk(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ctx := t.Context()
	landed := func(connector string, at time.Time, want bool) {
		t.Helper()
		if got, err := b.store.Landed(ctx, connector, at); err != nil || got != want {
			t.Fatalf("landed %v, error %v", got, err)
		}
	}
	due := func(want bool) {
		t.Helper()
		if _, got, err := b.store.Position(ctx); err != nil || got != want {
			t.Fatalf("a walk is due: %v, error %v", got, err)
		}
	}
	for _, name := range []string{"source-existing", "source-projection"} { // a new platform has no recorded jump
		landed(name, time.Now(), true)
	}
	due(true)
	b.exec(t, "DELETE FROM cdc_walk")
	before := time.Now().Add(-time.Minute)
	if err := b.store.Jump(ctx, []string{"source-existing", "source-projection"}); err != nil {
		t.Fatal(err)
	}
	if jumping, err := b.store.Jumping(ctx); err != nil || len(jumping) != 2 {
		t.Fatalf("%v, error %v", jumping, err)
	}
	landed("source-existing", time.Now().Add(time.Minute), false) // it still has its old position
	if err := b.store.Jumped(ctx, "source-existing"); err != nil {
		t.Fatal(err)
	}
	landed("source-existing", before, false) // a heartbeat from before the gap
	due(false)
	if behind, err := b.store.Behind(ctx); err != nil || !behind {
		t.Fatalf("behind %v, error %v", behind, err)
	}
	landed("source-existing", time.Now().Add(time.Minute), true)
	due(true)
	landed("source-existing", time.Now().Add(time.Minute), false) // from another process
	if jumping, err := b.store.Jumping(ctx); err != nil || len(jumping) != 1 || !jumping["source-projection"] {
		t.Fatalf("%v, error %v", jumping, err)
	}
}

func TestThePlatformHasTheColumns(t *testing.T) {
	t.Parallel()
	b := setup(t)
	if err := mysqldb.RequireColumns(t.Context(), b.db, mysql.SourceColumns()); err != nil {
		t.Fatal(err)
	}
}
