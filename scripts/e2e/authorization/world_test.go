package authorization

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/labplatform/labplatform/scripts/devstack/sandbox"
	"github.com/labplatform/labplatform/scripts/devstack/seed"
)

const startTimeout = 10 * time.Minute // including a first build

//go:embed bundle.json
var bundle string

//go:embed people.json
var staff string

//go:embed logins.json
var logins string

// owner is a set of owners (laboratory, organization, doctor and so on), with the numbers of objects that belong to
// them.
type owner struct {
	n, patient, lab, org, cc, branch, doctor, test, index, user, template int
	value, word, job                                                      string
	open                                                                  bool // the report has an open editing session
}

// owners are the three owners of a cell's letters: two of one laboratory, and one of another.
var owners = []owner{
	{n: 5_000_001, patient: 5_000_001, lab: 12, org: 45, cc: 21, branch: 3, doctor: 9301, test: 55, index: 1, value: "5.9", user: 9103, template: 1, word: "Anilcanary", open: true},
	{n: 5_000_002, patient: 5_000_002, lab: 12, org: 46, cc: 22, branch: 5, doctor: 9302, test: 66, index: 2, value: "7.1", user: 9103, template: 1, word: "Balacanary", open: true},
	{n: 5_000_003, patient: 5_000_003, lab: 13, org: 55, cc: 31, branch: 9, doctor: 9311, test: 155, index: 1, value: "5.9", user: 9112, template: 3, word: "Chitracanary", open: true},
}

// endedSession plus a report's number is the number of an ended editing session of that report.
const endedSession = 1_000_000

// fill replaces names in braces by values of the owner.
func (o owner) fill(text string) string {
	opened := 0
	if o.open {
		opened = 1
	}
	now := time.Now().Unix()
	for name, value := range map[string]any{
		"n": o.n, "patient": o.patient, "user_id": o.patient, "lab": o.lab, "org": o.org, "cc": o.cc, "branch": o.branch, "doctor": o.doctor, "test": o.test, "test_id": o.test, "key": "unmapped",
		"index": o.index, "user": o.user, "labUserId": o.user, "template": o.template, "value": o.value, "word": o.word, "job": o.job,
		"ended": o.n + endedSession, "soon": time.Now().UTC().Add(30 * time.Minute).Format("2006-01-02T15:04:05"), "open": opened, "now": now, "later": now + 28800, "gateway": "fcm", "action": "read",
		"notification_type_id": 2, "file": "fcm-sw.js", "all": fmt.Sprintf("%d,%d,%d", owners[0].n, owners[1].n, owners[2].n),
	} {
		text = strings.ReplaceAll(text, "{"+name+"}", fmt.Sprint(value))
	}
	for _, name := range []string{"id", "lab_report_id", "report_id", "edit_id", "revision_id", "bill_id", "notification_id"} {
		text = strings.ReplaceAll(text, "{"+name+"}", fmt.Sprint(o.n))
	}
	return text
}

// platform is the running platform of this test binary.
var platform *sandbox.Sandbox

func withPipeline() bool { return os.Getenv("LAB_PIPELINE") != "off" }

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
	defer cancel()
	var err error
	if platform, err = sandbox.Build(ctx, "LAB_SEED=demo", "SEARCH_RATE_LIMIT_PER_MINUTE=1000000"); err != nil {
		fmt.Fprintln(os.Stderr, "authorization:", err)
		return 1
	}
	defer platform.Remove()
	if _, err := platform.Up(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "authorization: start the platform:", err)
		return 1
	}
	return m.Run()
}

// apply writes the staff, their sessions, and the objects of the given owners.
func apply(t *testing.T, all []owner) {
	t.Helper()
	tables := map[string][]json.RawMessage{}
	for _, o := range all {
		add(t, tables, o.fill(bundle))
	}
	add(t, tables, staff)
	text, err := json.Marshal(map[string]any{"mysql": tables, "sessions": json.RawMessage(logins)})
	if err != nil {
		t.Fatal(err)
	}
	fixture, err := seed.Parse(text, "")
	if err != nil {
		t.Fatal(err)
	}
	target, err := seed.Stack(platform.Dir)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := target.Apply(t.Context(), fixture); err != nil {
		t.Fatal(err)
	}
}

func add(t *testing.T, tables map[string][]json.RawMessage, text string) {
	t.Helper()
	var more map[string][]json.RawMessage
	if err := json.Unmarshal([]byte(text), &more); err != nil {
		t.Fatal(err)
	}
	for table, rows := range more {
		tables[table] = append(tables[table], rows...)
	}
}

// credential returns the headers with which a login requests an object of o.
func credential(t *testing.T, login string, o owner) http.Header {
	t.Helper()
	header := http.Header{}
	bearer := func(secret string, typ string, claims map[string]any) {
		header.Set("Authorization", "Bearer "+signed(t, secret, typ, claims))
	}
	secrets := platform.Endpoints.JWTSecrets
	editing := platform.Endpoints.Environ["externaledit"]["EXTERNAL_EDIT_TOKEN_SECRET"]
	own := owners[0].n
	if o.lab == owners[0].lab && o.org == owners[0].org {
		own = o.n
	}
	switch login {
	case "no":
	case "bt":
		bearer(secrets.Mobile, "JWT", claimsOf(t, login))
	case "be":
		bearer(secrets.Ephemeral, "JWT", claimsOf(t, login))
	case "in":
		bearer(secrets.Mobile, "JWT", map[string]any{"lab_id": 12})
	case "et", "ee":
		id := own
		if login == "ee" {
			id += endedSession
		}
		bearer(editing, "external-edit+jwt", map[string]any{"iss": "labplatform", "aud": "externaledit", "jti": fmt.Sprint("token-", id),
			"user_id": owners[0].user, "lab_report_id": own, "session_id": id, "lab_id": 12})
	case "sv":
		token, err := platform.InternalToken(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		header.Set("Authorization", "Bearer "+token)
	default:
		header.Set("Cookie", "sessionid="+login)
	}
	return header
}

// claimsOf returns the fields of a login's session, which are also the claims of its tokens.
func claimsOf(t *testing.T, login string) map[string]any {
	t.Helper()
	var all []map[string]any
	if err := json.Unmarshal([]byte(logins), &all); err != nil {
		t.Fatal(err)
	}
	for _, one := range all {
		if one["id"] == login {
			delete(one, "id")
			return one
		}
	}
	t.Fatalf("no login %s", login)
	return nil
}

func signed(t *testing.T, secret, typ string, claims map[string]any) string {
	t.Helper()
	claims["iat"], claims["exp"] = time.Now().Unix(), time.Now().Add(time.Hour).Unix()
	token := jwt.NewWithClaims(jwt.SigningMethodHS256, jwt.MapClaims(claims))
	token.Header["typ"] = typ
	text, err := token.SignedString([]byte(secret))
	if err != nil {
		t.Fatal(err)
	}
	return text
}
