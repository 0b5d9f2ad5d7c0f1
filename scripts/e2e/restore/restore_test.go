package restore

import (
	"database/sql"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/labplatform/labplatform/pkg/testkit/await"
	"github.com/labplatform/labplatform/scripts/e2e/demolab"
)

func TestABackupByTheHandbookBringsEverythingBack(t *testing.T) {
	tools := mongoTools(t)
	p := demolab.Start(t)
	db, err := sql.Open("mysql", p.Endpoints.MySQLDSN)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	rerun, job := p.Rerun(t), schedule(t, p)
	backup := t.TempDir()
	environment := variables(t, p, backup)

	haveUsers(t, p)
	ofTheCore(t, db)

	backUp := block(t, counting) + block(t, backUpDatabase) + block(t, backUpOthers)
	mayNot(t, environment, tools, map[string]string{
		`MYSQL_PWD="$BACKUP_PASSWORD" mysql --host="$DB_HOST" --port="$DB_PORT" --user=backup lab -e "DELETE FROM labs"`:         "denied",
		`MYSQL_PWD="$RESTORE_PASSWORD" mysql --host="$DB_HOST" --port="$DB_PORT" --user=restore -e "SELECT * FROM mysql.user"`:   "denied",
		`REDISCLI_AUTH="$REDIS_PASSWORD" redis-cli -e --user backup -h "$REDIS_HOST" -p "$REDIS_PORT" GET session:demo-lab-user`: "NOPERM",
		`REDISCLI_AUTH="$REDIS_PASSWORD" redis-cli -e --user backup -h "$REDIS_HOST" -p "$REDIS_PORT" FLUSHALL`:                  "NOPERM",
		`REDISCLI_AUTH="$REDIS_PASSWORD" redis-cli -e --user backup -h "$REDIS_HOST" -p "$REDIS_PORT" CONFIG GET requirepass`:    "NOPERM",
	})
	before := settled(t, db, func() { follow(t, backUp, environment, tools) })
	scheduled := p.MustAsk(t, "POST", "/jobInfo/", job)

	lost, services := time.Now(), p.Services()
	for _, service := range services {
		must(t, p.Stop(service))
	}
	lose(t, p, db)
	if left := count(t, db); len(left) != 0 {
		t.Fatalf("these tables survived: %v", left)
	}
	follow(t, block(t, counting)+block(t, restoreDatabase)+block(t, restoreOthers)+block(t, restoreQueue), environment, tools)
	must(t, p.Run(t.Context(), "exec", "rerun", "migrate"))
	for _, part := range append([]string{"redis"}, services...) {
		must(t, p.Start(part, nil))
	}

	wantOfTheCore(t, db)
	if diff := cmp.Diff(before, count(t, db)); diff != "" {
		t.Errorf("rows by table (-before +after):\n%s", diff)
	}
	same(t, "the rerun of the document store", rerun, func() (string, error) { return p.Reruns(t.Context()) })
	same(t, "the job of the queue", scheduled, func() (string, error) { return p.Ask(t.Context(), "POST", "/jobInfo/", job) })
	rows := 0
	for _, n := range before {
		rows += n
	}
	t.Logf("%d rows of %d tables, a rerun with its values and a scheduled job are back %.1f s after the loss", rows, len(before), time.Since(lost).Seconds())
}

func same(t *testing.T, what, before string, ask func() (string, error)) {
	t.Helper()
	await.Nil(t, what, func() error {
		after, err := ask()
		if err == nil && before != after {
			err = fmt.Errorf("it was %s and is %s", before, after)
		}
		return err
	})
}

// schedule enqueues a job for tomorrow and returns the body of a request for its state.
func schedule(t *testing.T, p demolab.Platform) (job string) {
	t.Helper()
	at := time.Now().UTC().AddDate(0, 0, 1).Format("2006-01-02T15:04:05")
	body := p.MustAsk(t, "POST", "/schedule/", fmt.Sprintf(
		`[{"sch_time":%q,"task":2,"task_type":1,"data":{"to":["a@example.org"],"subject":"Hello","message":"<p>Hello</p>"}}]`, at))
	_, rest, _ := strings.Cut(body, `"job_ids":["`)
	id, _, ok := strings.Cut(rest, `"`)
	if !ok {
		t.Fatalf("no job in %s", body)
	}
	return fmt.Sprintf(`{"id":%q}`, id)
}

// settled runs the backup back until the tables did not change during it, and returns the number of rows by table.
// Background loops may first have to finish earlier work.
func settled(t *testing.T, db *sql.DB, back func()) map[string]int {
	t.Helper()
	for range 5 {
		before := count(t, db)
		back()
		if cmp.Equal(before, count(t, db)) {
			return before
		}
	}
	t.Fatal("the tables never rest")
	return nil
}

func count(t *testing.T, db *sql.DB) map[string]int {
	t.Helper()
	rows, err := db.QueryContext(t.Context(), "SELECT TABLE_NAME FROM information_schema.TABLES WHERE TABLE_SCHEMA = 'lab'")
	must(t, err)
	defer rows.Close()
	var tables []string
	for rows.Next() {
		var table string
		must(t, rows.Scan(&table))
		tables = append(tables, table)
	}
	must(t, rows.Err())
	counts := map[string]int{}
	for _, table := range tables {
		n := 0
		must(t, db.QueryRowContext(t.Context(), "SELECT COUNT(*) FROM lab.`"+table+"`").Scan(&n))
		counts[table] = n
	}
	return counts
}

// lose deletes all data of the three stores. The queue's Redis stays stopped.
func lose(t *testing.T, p demolab.Platform, db *sql.DB) {
	t.Helper()
	_, err := db.ExecContext(t.Context(), "DROP DATABASE lab")
	must(t, err)
	for _, engine := range []string{"mongo", "redis"} {
		must(t, p.Kill(engine))
		must(t, os.RemoveAll(data(p, engine)))
		must(t, os.MkdirAll(data(p, engine), 0o755))
	}
	must(t, p.Start("mongo", nil))
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
