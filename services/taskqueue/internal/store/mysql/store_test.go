package mysql_test

import (
	"database/sql"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/labplatform/labplatform/pkg/mysqldb"
	"github.com/labplatform/labplatform/pkg/testkit/mysqltest"
	"github.com/labplatform/labplatform/services/taskqueue/internal/consent"
	"github.com/labplatform/labplatform/services/taskqueue/internal/delivery/webhook"
	"github.com/labplatform/labplatform/services/taskqueue/internal/janitor"
	"github.com/labplatform/labplatform/services/taskqueue/internal/job"
	"github.com/labplatform/labplatform/services/taskqueue/internal/sender"
	"github.com/labplatform/labplatform/services/taskqueue/internal/store/mysql"
	"github.com/labplatform/labplatform/services/taskqueue/migrations"
)

func migrated(t *testing.T) *sql.DB {
	t.Helper()
	db := mysqltest.New(t)
	if err := mysqldb.Migrate(t.Context(), db, migrations.Schemas(), slog.New(slog.DiscardHandler)); err != nil {
		t.Fatal(err)
	}
	return db
}

const (
	first  = job.ID("00a01BX5ZZKBKACTAV9WEVGEMMVRZ")
	second = job.ID("00b01BX5ZZKBKACTAV9WEVGEMMVRZ")
)

func full() job.Record {
	return job.Record{State: job.Failed, Task: 4, TaskType: 2, LabID: 12, Caller: "user:77", LogTag: "tag", Retry: 3, Attempts: 2, CreatedMs: 1, ScheduledMs: 2,
		StartedMs: 3, EndedMs: 1000, HTTPStatus: 503, Excerpt: "busy", Error: "The receiver answered 503", MessageID: "m",
		History: []job.Attempt{{StartedMs: 3, EndedMs: 4, HTTPStatus: 503, Error: "The receiver answered 503", Reason: "http_5xx"}}, Reason: "http_5xx"}
}

func TestTheArchiveReturnsWhatItTookAndKeepsTheNewestEnd(t *testing.T) {
	t.Parallel()
	a := mysql.New(migrated(t))
	write := func(list ...janitor.Entry) {
		t.Helper()
		if refused, err := a.Write(t.Context(), list); err != nil || len(refused) > 0 {
			t.Fatalf("%v, %v", refused, err)
		}
	}
	plain := job.Record{State: job.Cancelled, EndedMs: 5}
	for range 2 { // a repeat after a crash
		write(janitor.Entry{ID: first, Record: full()}, janitor.Entry{ID: second, Record: plain})
	}
	newer, older := full(), full()
	newer.State, newer.EndedMs, newer.Error = job.Finished, 2000, ""
	older.State, older.EndedMs = job.Unknown, 1500
	write(janitor.Entry{ID: first, Record: newer})
	write(janitor.Entry{ID: first, Record: older})
	got, err := a.Find(t.Context(), []job.ID{first, second, "00b01BX5ZZKBKACTAV9WEVGEMMVRA"})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[job.ID]*job.Record{first: &newer, second: &plain}, got); diff != "" {
		t.Errorf("found (-want +got):\n%s", diff)
	}
	if n, err := a.Purge(t.Context(), time.UnixMilli(1000)); err != nil || n != 1 {
		t.Errorf("purged %d, %v", n, err)
	}
}

func TestAnEndThatTheDatabaseRefusesDoesNotHoldUpTheOthers(t *testing.T) {
	t.Parallel()
	a := mysql.New(migrated(t))
	bad, good := full(), full()
	bad.LabID = 1 << 40
	good.Error = strings.Repeat("ü", 3000) + "\xff"
	refused, err := a.Write(t.Context(), []janitor.Entry{{ID: first, Record: bad}, {ID: second, Record: good}})
	if diff := cmp.Diff([]job.ID{first}, refused); err != nil || diff != "" {
		t.Fatalf("got %v, %s, want none", err, diff)
	}
	if got, err := a.Find(t.Context(), []job.ID{first, second}); err != nil || len(got) != 1 || len([]rune(got[second].Error)) != 1024 {
		t.Errorf("%v, %v", got, err)
	}
}

func TestTheLastLineOfTheLedgerIsTheState(t *testing.T) {
	t.Parallel()
	db := migrated(t)
	s := mysql.New(db)
	allowed := func(lab int64, key string) bool {
		t.Helper()
		ok, err := s.Allowed(t.Context(), lab, key)
		if err != nil {
			t.Fatal(err)
		}
		return ok
	}
	if allowed(12, "k") {
		t.Error("no one agreed yet")
	}
	record := func(kind string) {
		t.Helper()
		c := consent.Change{Update: consent.Update{CacheKey: "k", Type: kind, Details: []byte(`{"a":1}`)}, LabID: 12, Actor: "user:77", AtMs: 7, UserAgent: strings.Repeat("x", 900)}
		if err := s.Record(t.Context(), c); err != nil {
			t.Error(err)
		}
	}
	record("opt_in")
	if !allowed(12, "k") || allowed(13, "k") || allowed(12, "K") {
		t.Error("the consent is of one laboratory and one key")
	}
	record("optout")
	if allowed(12, "k") {
		t.Error("the recipient opted out")
	}
	var group sync.WaitGroup
	for i := range 16 {
		group.Go(func() { record([]string{"optin", "opt_out"}[i%2]) })
	}
	group.Wait()
	var lines int
	var last, state string
	if err := db.QueryRowContext(t.Context(), `SELECT (SELECT COUNT(*) FROM whatsapp_consent_log), (SELECT type FROM whatsapp_consent_log ORDER BY id DESC LIMIT 1),
		(SELECT type FROM whatsapp_consent)`).Scan(&lines, &last, &state); err != nil {
		t.Fatal(err)
	}
	if lines != 18 || last != state {
		t.Errorf("%d lines, the last is %s, the state %s", lines, last, state)
	}
}

func TestTheMappingAcceptedLastWinsInAnyOrder(t *testing.T) {
	t.Parallel()
	db := migrated(t)
	m := mysql.New(db)
	for _, step := range []struct {
		data string
		at   int64
	}{{`{"v":2}`, 20}, {`{"v":1}`, 10}, {`{"v":3}`, 30}, {`{"v":3}`, 30}, {`{"v":2}`, 20}} {
		if err := m.Put(t.Context(), 12, "hb", []byte(step.data), step.at); err != nil {
			t.Fatal(err)
		}
	}
	if err := m.Put(t.Context(), 0, "hb", []byte(`{"v":9}`), 1); err != nil {
		t.Fatal(err)
	}
	var v, at int
	if err := db.QueryRowContext(t.Context(), "SELECT JSON_EXTRACT(data, '$.v'), updated_at FROM dictionary_mapping WHERE lab_id = 12 AND keyword = 'hb'").Scan(&v, &at); err != nil || v != 3 || at != 30 {
		t.Errorf("version %d at %d, %v", v, at, err)
	}
}

func TestReadyNamesTheMissingMigration(t *testing.T) {
	t.Parallel()
	if err := mysql.New(mysqltest.New(t)).Ready(t.Context()); err == nil || !strings.Contains(err.Error(), "taskqueue migrate") {
		t.Errorf("%v", err)
	}
	if err := mysql.New(migrated(t)).Ready(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestTheSecretsOfReceiversComeNewestFirstWithoutDisabledOnes(t *testing.T) {
	t.Parallel()
	db := migrated(t)
	if _, err := db.ExecContext(t.Context(), `INSERT INTO tq_webhook_secret (lab_id, origin, secret, is_disabled) VALUES
		(12, 'https://a.example', 'old', 0), (NULL, 'https://b.example', 'all', 0), (12, 'https://a.example', 'leaked', 1), (12, 'https://a.example', 'new', 0)`); err != nil {
		t.Fatal(err)
	}
	want := []webhook.Subscriber{{LabID: 12, Origin: "https://a.example", Secret: "new"}, {Origin: "https://b.example", Secret: "all"},
		{LabID: 12, Origin: "https://a.example", Secret: "old"}}
	got, err := mysql.New(db).Subscribers(t.Context())
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
}

func TestSendersInForceAreRead(t *testing.T) {
	t.Parallel()
	db := migrated(t)
	if _, err := db.ExecContext(t.Context(), `INSERT INTO tq_sender (lab_id, channel, sender, is_disabled) VALUES
		(12, 'email', '@lab.example', 0), (NULL, 'sms', 'LABPLT', 0), (12, 'sms', 'OLD', 1)`); err != nil {
		t.Fatal(err)
	}
	want := []sender.Rule{{LabID: 12, Channel: "email", Sender: "@lab.example"}, {Channel: "sms", Sender: "LABPLT"}}
	got, err := mysql.New(db).Senders(t.Context())
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	for _, statement := range []string{"CREATE TABLE labs (id INT PRIMARY KEY)", "INSERT INTO labs (id) VALUES (12), (13)"} {
		if _, err := db.ExecContext(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
	got, err = mysql.New(db).Senders(t.Context())
	if diff := cmp.Diff(append(want, sender.Rule{Several: true}), got); diff != "" || err != nil {
		t.Errorf("with two laboratories: %v (-want +got):\n%s", err, diff)
	}
}
