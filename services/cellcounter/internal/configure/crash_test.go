package configure_test

import (
	"context"
	"database/sql"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/labplatform/labplatform/pkg/clock"
	"github.com/labplatform/labplatform/pkg/testkit/crashdb"
	"github.com/labplatform/labplatform/services/cellcounter/internal/configure"
	"github.com/labplatform/labplatform/services/cellcounter/internal/mapping"
	"github.com/labplatform/labplatform/services/cellcounter/internal/store/mysql"
	"github.com/labplatform/labplatform/services/cellcounter/internal/store/storetest"
)

type silent struct{}

func (silent) Saved(int, int) {}
func (silent) Deleted(int)    {}

// TestADeathLeavesAWriteWholeOrUndone aborts a write that exchanges two keys, adds a mapping and sets the target.
// Repeating the request gives the same scope as without an abort.
func TestADeathLeavesAWriteWholeOrUndone(t *testing.T) {
	t.Parallel()
	lab, target := storetest.Lab(t, 12), 200
	write := func(ctx context.Context, db *sql.DB, elements ...configure.Element) error {
		w := configure.Write{TestID: storetest.OwnTest, Owner: lab, Elements: elements, Target: &target, Actor: asha}
		_, err := configure.New(mysql.New(db), clock.System{}, silent{}).Write(ctx, w)
		return err
	}
	exchange := func(db *sql.DB) error {
		return write(t.Context(), db, element("a", 2, 2, 0), element("b", 1, 1, 0), element("c", 3, 1, 0))
	}
	var db *sql.DB
	view := func() configure.View {
		v, err := mysql.New(db).Mappings(t.Context(), storetest.OwnTest, lab)
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	var before configure.View
	open := func() (dsn string) {
		db, dsn = storetest.OpenDSN(t)
		if err := write(t.Context(), db, element("a", 1, 1, 0), element("b", 2, 2, 0)); err != nil {
			t.Fatal(err)
		}
		storetest.Exec(t, db, "UPDATE cell_counter_setting SET target_count = 100")
		before = view()
		return dsn
	}
	after := configure.View{OwnLab: true, Target: target,
		Rows: []mapping.Row{storetest.Row("b", 1, 1), storetest.Row("a", 2, 2), storetest.Row("c", 3, 1)}}
	after.Rows[0].ID, after.Rows[1].ID, after.Rows[2].ID = 2, 1, 3
	crashes := crashdb.Each(t, open, exchange, func(c crashdb.Crash, err error) {
		want := before
		if c.AnswerLost {
			want = after
		}
		if got := view(); !cmp.Equal(want, got, cmp.AllowUnexported(mapping.Key{})) {
			t.Errorf("the process %s: %s with target %d, want %s", c, printed(got.Rows), got.Target, printed(want.Rows))
		}
		if err := exchange(db); err != nil {
			t.Errorf("the process %s; the request again: %v", c, err)
		}
		if got := view(); printedKeys(got.Rows) != printedKeys(after.Rows) || got.Target != target {
			t.Errorf("the process %s; the request again left %s, want %s", c, printed(got.Rows), printed(after.Rows))
		}
	})
	if len(crashes) < 10 {
		t.Errorf("%d crashes, want one for each statement: %v", len(crashes), crashes)
	}
}

// printedKeys omits the ids, because an insert uses an id even if it is rolled back.
func printedKeys(rows []mapping.Row) string {
	rows = append([]mapping.Row{}, rows...)
	for i := range rows {
		rows[i].ID = 0
	}
	return printed(rows)
}
