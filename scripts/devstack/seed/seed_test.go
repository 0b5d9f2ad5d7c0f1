package seed_test

import (
	"database/sql"
	"encoding/json"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/redis/go-redis/v9"
	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"gocloud.dev/blob/fileblob"

	"github.com/labplatform/labplatform/pkg/testkit/legacydb"
	"github.com/labplatform/labplatform/pkg/testkit/mongotest"
	"github.com/labplatform/labplatform/pkg/testkit/mysqltest"
	"github.com/labplatform/labplatform/pkg/testkit/redistest"
	"github.com/labplatform/labplatform/scripts/devstack/seed"
)

type stores struct {
	target  seed.Target
	db      *sql.DB
	redis   *redis.Client
	mongo   *mongo.Database
	objects string
}

func newStores(t *testing.T) *stores {
	t.Helper()
	db, dsn := mysqltest.Open(t)
	if err := legacydb.Create(t.Context(), db); err != nil {
		t.Fatal(err)
	}
	if _, err := db.ExecContext(t.Context(), "CREATE TABLE `derived` (`id` INT PRIMARY KEY, `twice` INT GENERATED ALWAYS AS (`id` * 2) STORED)"); err != nil {
		t.Fatal(err)
	}
	server, documents, objects := redistest.Start(t), mongotest.Database(t), t.TempDir()
	return &stores{db: db, redis: server.Client(), mongo: documents, objects: objects, target: seed.Target{
		MySQLDSN: dsn, RedisAddr: server.Addr, MongoURI: mongotest.URI(t), MongoDatabase: documents.Name(),
		BlobURL: (&url.URL{Scheme: "file", Path: objects, RawQuery: "no_tmp_dir=true"}).String(),
		Now:     func() time.Time { return time.Unix(1_790_000_000, 0) },
	}}
}

func (s *stores) apply(t *testing.T, text string) error {
	t.Helper()
	fixture, err := seed.Parse([]byte(text), t.TempDir())
	if err != nil {
		return err
	}
	_, err = s.target.Apply(t.Context(), fixture)
	return err
}

func (s *stores) mustApply(t *testing.T, text string) {
	t.Helper()
	if err := s.apply(t, text); err != nil {
		t.Fatal(err)
	}
}

func (s *stores) text(t *testing.T, query string) string {
	t.Helper()
	var got sql.NullString
	if err := s.db.QueryRowContext(t.Context(), query).Scan(&got); err != nil {
		t.Fatalf("%s: got error %v, want none", query, err)
	}
	return got.String
}

// requireEmpty fails the test if anything was written.
func (s *stores) requireEmpty(t *testing.T) {
	t.Helper()
	if got := s.text(t, "SELECT COUNT(*) FROM labs"); got != "0" {
		t.Errorf("%s laboratories were written", got)
	}
	if n, err := s.redis.DBSize(t.Context()).Result(); err != nil || n != 0 {
		t.Errorf("%d Redis keys were written (%v)", n, err)
	}
	if n, err := s.mongo.Collection("SampleRerun").CountDocuments(t.Context(), bson.D{}); err != nil || n != 0 {
		t.Errorf("%d documents were written (%v)", n, err)
	}
	if entries, err := os.ReadDir(s.objects); err != nil || len(entries) != 0 {
		t.Errorf("%d objects were written (%v)", len(entries), err)
	}
}

func TestAWrongFixtureIsNamedAndWritesNothing(t *testing.T) {
	t.Parallel()
	s := newStores(t)
	const good = `"labs":[{"id":1,"labName":"first"}]`
	const rest = `,"mongo":{"SampleRerun":[{"lab_id":1}]},"redis":{"string":{"k":"v"}},"objects":[{"key":"a","text":"b"}],"sessions":[{"id":"s","session_type":"support"}]`
	for name, c := range map[string]struct{ fixture, want string }{
		"unknown table":            {`{"mysql":{` + good + `,"laboratories":[{"id":1}]}` + rest + `}`, `"laboratories"`},
		"table in wrong case":      {`{"mysql":{` + good + `,"LABS":[{"id":1}]}` + rest + `}`, `"LABS"`},
		"unknown empty table":      {`{"mysql":{` + good + `,"nothing":[]}` + rest + `}`, `"nothing"`},
		"unknown column":           {`{"mysql":{` + good + `,"billing":[{"id":1},{"id":2,"amount":"3"}]}` + rest + `}`, `unknown column "amount" of table "billing" (row 1)`},
		"generated column":         {`{"mysql":{` + good + `,"derived":[{"id":1,"twice":2}]}` + rest + `}`, `column "twice" of table "derived" is generated`},
		"object in a plain column": {`{"mysql":{` + good + `,"labUser":[{"username":{"a":1}}]}` + rest + `}`, `column "username" of table "labUser"`},
		"value that does not fit":  {`{"mysql":{` + good + `,"department":[{"id":"many","labId_id":1,"departmentName":"x"}]}` + rest + `}`, "department"},
		"missing required column":  {`{"mysql":{` + good + `,"department":[{"id":5}]}` + rest + `}`, "department"},
		"unknown top-level key":    {`{"mysql":{` + good + `},"tables":{}` + rest + `}`, `"tables"`},
		"table twice":              {`{"mysql":{` + good + `,` + good + `}` + rest + `}`, `"labs" appears twice`},
		"not JSON":                 {`{"mysql":{` + good + `}` + rest, "not a fixture"},
		"session without type":     {`{"mysql":{` + good + `},"sessions":[{"id":"s"}]}`, "session_type"},
		"session without id":       {`{"mysql":{` + good + `},"sessions":[{"session_type":"support"}]}`, "id"},
		"unknown session type":     {`{"mysql":{` + good + `},"sessions":[{"id":"s","session_type":"patient"}]}`, "session_type"},
		"unknown session field":    {`{"mysql":{` + good + `},"sessions":[{"id":"s","session_type":"support","labid":1}]}`, `"labid"`},
		"object outside the store": {`{"mysql":{` + good + `},"objects":[{"key":"../a","text":"b"}]}`, `"../a"`},
		"object without a file":    {`{"mysql":{` + good + `},"objects":[{"key":"a","file":"missing.docx"}]}`, "missing.docx"},
		"object with both sources": {`{"mysql":{` + good + `},"objects":[{"key":"a","file":"x","text":"b"}]}`, "exactly one"},
	} {
		t.Run(name, func(t *testing.T) {
			err := s.apply(t, c.fixture)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error = %v, want one with %s", err, c.want)
			}
			s.requireEmpty(t)
		})
	}
}

func TestRowsKeepExactValues(t *testing.T) {
	t.Parallel()
	s := newStores(t)
	s.mustApply(t, `{"mysql":{
		"billing":[{"id":9007199254740993,"labId_id":12,"labBillId":1,"userDetailsId_id":1,"billTotalAmount":123456789012.35,"vat":"10.10","billTime":"2026-11-20T10:00:00.25+05:30"}],
		"labUser":[{"id":1,"labId_id":1,"username":"a","isAdmin":true,"permissions":["x"]},{"id":2,"labId_id":1,"username":"b","permissions":"[\"y\"]"},{"id":3,"labId_id":1,"username":"c","permissions":null}]}}`)
	for query, want := range map[string]string{
		"SELECT id FROM billing":                            "9007199254740993",
		"SELECT billTotalAmount FROM billing":               "123456789012.35",
		"SELECT vat FROM billing":                           "10.10",
		"SELECT CAST(billTime AS CHAR) FROM billing":        "2026-11-20 04:30:00.250000",
		"SELECT source FROM billing":                        "",
		"SELECT permissions FROM labUser WHERE id = 1":      `["x"]`,
		"SELECT permissions FROM labUser WHERE id = 2":      `["y"]`,
		"SELECT permissions FROM labUser WHERE id = 3":      "",
		"SELECT isAdmin FROM labUser WHERE id = 1":          "1",
		"SELECT departmentDataType FROM labUser WHERE id=1": "0",
	} {
		if got := s.text(t, query); got != want {
			t.Errorf("%s = %q, want %q", query, got, want)
		}
	}
}

func TestRowsAreReplacedAndClearEmptiesFirst(t *testing.T) {
	t.Parallel()
	s := newStores(t)
	fixture := `{"mysql":{"labs":[{"id":1,"labName":"one"},{"id":2,"labName":"two"},{"id":1,"labName":"one again"}]},"mongo":{"SampleRerun":[{"_id":"x","n":1}]}}`
	s.mustApply(t, fixture)
	s.mustApply(t, fixture)
	if got := s.text(t, "SELECT GROUP_CONCAT(labName ORDER BY id) FROM labs"); got != "one again,two" {
		t.Fatalf("laboratories = %s", got)
	}
	s.mustApply(t, `{"clear":true,"mysql":{"labs":[{"id":3,"labName":"three"}]},"mongo":{"SampleRerun":[]}}`)
	if got := s.text(t, "SELECT GROUP_CONCAT(labName) FROM labs"); got != "three" {
		t.Fatalf("laboratories after clear = %s", got)
	}
	if n, err := s.mongo.Collection("SampleRerun").CountDocuments(t.Context(), bson.D{}); err != nil || n != 0 {
		t.Fatalf("%d documents after clear (%v)", n, err)
	}
}

func TestDocumentsKeepIntegersAndReplaceById(t *testing.T) {
	t.Parallel()
	s := newStores(t)
	for range 2 {
		s.mustApply(t, `{"mongo":{"SampleRerun":[{"_id":"r1","lab_id":12,"ids":[1,2],"at":{"$date":"2026-11-20T10:00:00Z"}}]}}`)
	}
	cursor, err := s.mongo.Collection("SampleRerun").Find(t.Context(), bson.D{})
	if err != nil {
		t.Fatal(err)
	}
	var got []bson.M
	if err := cursor.All(t.Context(), &got); err != nil {
		t.Fatal(err)
	}
	want := []bson.M{{"_id": "r1", "lab_id": int32(12), "ids": bson.A{int32(1), int32(2)},
		"at": bson.NewDateTimeFromTime(time.Date(2026, 11, 20, 10, 0, 0, 0, time.UTC))}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatal(diff)
	}
}

func TestSessionsHaveTheDocumentedDefaults(t *testing.T) {
	t.Parallel()
	s := newStores(t)
	s.mustApply(t, `{"sessions":[{"id":"bare","session_type":"support"},
		{"id":"full","session_type":"doctor","lab_id":12,"branch_id":3,"org_id":4,"cc_id":5,"lab_user_id":6,"username":"u","full_name":"F","doctor_id":7,
		 "doc_type":2,"department_data_type":1,"department_ids":[1],"permissions":["report_edit"],"is_global_admin":true,"created_at":1700000000}]}`)
	for id, want := range map[string]string{
		"bare": `{"session_type":"support","lab_id":null,"branch_id":null,"org_id":null,"cc_id":null,"lab_user_id":null,"username":"","full_name":"",
			"doctor_id":null,"doc_type":null,"department_data_type":0,"department_ids":[],"permissions":[],"is_global_admin":false,"created_at":1790000000}`,
		"full": `{"session_type":"doctor","lab_id":12,"branch_id":3,"org_id":4,"cc_id":5,"lab_user_id":6,"username":"u","full_name":"F","doctor_id":7,
			"doc_type":2,"department_data_type":1,"department_ids":[1],"permissions":["report_edit"],"is_global_admin":true,"created_at":1700000000}`,
	} {
		stored, err := s.redis.Get(t.Context(), "session:"+id).Result()
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(parse(t, want), parse(t, stored)); diff != "" {
			t.Errorf("%s: got %s, want none", id, diff)
		}
		if ttl, err := s.redis.TTL(t.Context(), "session:"+id).Result(); err != nil || ttl <= 0 || ttl > seed.DefaultSessionAge {
			t.Errorf("%s lives %v (%v)", id, ttl, err)
		}
	}
}

func parse(t *testing.T, text string) map[string]any {
	t.Helper()
	var value map[string]any
	if err := json.Unmarshal([]byte(text), &value); err != nil {
		t.Fatal(err)
	}
	return value
}

func TestRedisKeysAndObjectsAreWritten(t *testing.T) {
	t.Parallel()
	s := newStores(t)
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "t.docx"), []byte("word"), 0o600); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "fixture.json")
	text := `{"redis":{"hash":{"sample_rerun_12":{"7001":"1","7002":1}},"string":{"key":"value"}},
		"objects":[{"key":"templates/t.docx","file":"t.docx"},{"key":"a.txt","text":"hello"}]}`
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	fixture, err := seed.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	counts, err := s.target.Apply(t.Context(), fixture)
	if err != nil || counts.Objects != 2 || counts.Keys != 2 {
		t.Fatalf("%v, %v", counts, err)
	}
	hash, err := s.redis.HGetAll(t.Context(), "sample_rerun_12").Result()
	if err != nil || !cmp.Equal(hash, map[string]string{"7001": "1", "7002": "1"}) {
		t.Errorf("hash = %v, %v", hash, err)
	}
	if got := s.redis.Get(t.Context(), "key").Val(); got != "value" {
		t.Errorf("key = %q", got)
	}
	for key, want := range map[string]string{"templates/t.docx": "word", "a.txt": "hello"} {
		if got, err := os.ReadFile(filepath.Join(s.objects, key)); err != nil || string(got) != want {
			t.Errorf("object %s = %q, %v", key, got, err)
		}
	}
	bucket, err := fileblob.OpenBucket(s.objects, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer bucket.Close()
	for key, want := range map[string]string{"templates/t.docx": "application/vnd.openxmlformats-officedocument.wordprocessingml.document", "a.txt": "text/plain; charset=utf-8"} {
		if got, err := bucket.Attributes(t.Context(), key); err != nil || got.ContentType != want {
			t.Errorf("object %s is %+v, %v", key, got, err)
		}
	}
}
