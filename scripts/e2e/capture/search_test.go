package capture

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/labplatform/labplatform/pkg/testkit/await"
)

// Laboratories in which only these tests write. 31 and 32 are on different shards.
const (
	ownLab   = int64(31)
	otherLab = int64(32)
)

// write runs statements on the platform's tables.
func write(t *testing.T, statements ...string) {
	t.Helper()
	db := database(t)
	for _, s := range statements {
		if _, err := db.Exec(s); err != nil {
			t.Fatalf("%s: got error %v, want none", s, err)
		}
	}
}

// register inserts a patient with a bill, an order and a sample.
func register(t *testing.T, lab, id int64, name, contact, sample string) {
	t.Helper()
	write(t, fmt.Sprintf("INSERT INTO userDetails (id, labId_id, fullName, contact, labPatientId, gender, dateOfBirth) VALUES (%d, %d, '%s', '%s', 'ST-%d', 'Female', '1990-02-11')",
		id, lab, strings.ReplaceAll(name, "'", "''"), contact, id),
		fmt.Sprintf("INSERT INTO billing (id, labId_id, labBillId, userDetailsId_id, orderNumber, orgId_id) VALUES (%d, %d, %d, %d, 'STORD-%d', 45)", id*10, lab, id*10, id, id),
		fmt.Sprintf("INSERT INTO labReportRelation (id, labId_id, userDetailsId_id, billId_id, reportID_id, sampleId) VALUES (%d, %d, %d, %d, 55, '%s')", id*100, lab, id, id*10, sample))
}

func TestTheSearchFollowsThePatient(t *testing.T) {
	const id = 940_001
	mine, theirs, session := user(t, ownLab, 1), user(t, otherLab, 1), cookie(t, ownLab, 2)
	register(t, ownLab, id, "Zenobia Quartermaine", "9812345670", "STSAMPLE-1/7")
	for _, who := range []credential{mine, session} {
		for _, text := range []string{"Zenobia Quartermaine", "quartermaine zen", "zenobiya", "9812345670", "+91 98123 45670", "STSAMPLE-1/7", "stsample-1", "ST-940001", "STORD-940001", "zenobia 5670"} {
			who.sees(t, text, id)
		}
	}
	f, err := mine.search(t, platform.Endpoints.Gateway, `{"query":"stsample-1/7","search_key":"sample"}`)
	if err != nil || f.Total != 1 || f.TotalRelation != "eq" || f.Degraded || f.SearchKey != "sample" || f.Buckets["sample"] != 1 || len(f.Buckets) != 5 {
		t.Errorf("%+v, error %v", f, err)
	}
	if r := f.Results; len(r) != 1 || r[0].LabID != ownLab || r[0].FullName != "Zenobia Quartermaine" || !slices.Equal(r[0].SampleIDs, []string{"STSAMPLE-1/7"}) ||
		r[0].Bucket != "sample" || !slices.Equal(r[0].Matched, []string{"sample_ids"}) {
		t.Errorf("%+v", f.Results)
	}
	theirs.sees(t, "9812345670")

	write(t, fmt.Sprintf("UPDATE userDetails SET fullName = 'Hortensia Blackwood' WHERE id = %d", id))
	mine.sees(t, "hortensia blackwood", id)
	mine.sees(t, "zenobia quartermaine")
	mine.sees(t, "9812345670", id)

	write(t, fmt.Sprintf("UPDATE userDetails SET labId_id = %d WHERE id = %d", otherLab, id))
	theirs.sees(t, "hortensia blackwood", id)
	mine.sees(t, "hortensia blackwood")
	mine.sees(t, "9812345670")
	mine.sees(t, "STSAMPLE-1/7")

	write(t, fmt.Sprintf("UPDATE userDetails SET isDeleted = 1 WHERE id = %d", id))
	theirs.sees(t, "hortensia blackwood")
	theirs.sees(t, "9812345670")
}

func TestALoginSeesItsOwnPatientsAlone(t *testing.T) {
	const id, elsewhere = 940_010, 940_011
	register(t, ownLab, id, "Perpetua Ashgrove", "9812345680", "STSAMPLE-10")
	register(t, otherLab, elsewhere, "Perpetua Ashgrove", "9812345680", "STSAMPLE-10")
	user(t, ownLab, 1).sees(t, "perpetua ashgrove", id)
	user(t, otherLab, 1).sees(t, "perpetua ashgrove", elsewhere)
	org := func(org int64) credential {
		return token(t, map[string]any{"session_type": "organization", "lab_id": ownLab, "org_id": org})
	}
	org(45).sees(t, "9812345680", id) // visible by the bill
	org(46).sees(t, "9812345680")
	for name, listener := range listeners() {
		for _, who := range []credential{user(t, ownLab, 1), cookie(t, ownLab, 2), org(45)} {
			got := who.detail(t, listener, id)
			var body struct{ User map[string]any }
			if err := json.Unmarshal([]byte(got.body), &body); err != nil || got.status != http.StatusOK || body.User["full_name"] != "Perpetua Ashgrove" || body.User["date_of_birth"] != "1990-02-11" {
				t.Errorf("detail at the %s: %d %s", name, got.status, got.body)
			}
		}
		for what, got := range map[string]answer{
			"detail of another laboratory":  user(t, ownLab, 1).detail(t, listener, elsewhere),
			"detail of no one":              user(t, ownLab, 1).detail(t, listener, 949_999),
			"detail of another institution": org(46).detail(t, listener, id),
		} {
			refusal(t, what+" at the "+name, got, http.StatusNotFound, "no such patient")
		}
	}
	entries, err := os.ReadFile(filepath.Join(platform.Dir, "logs", "search.log"))
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(string(entries), fmt.Sprintf(`"audit":true,"user_id":%d`, id)); n != 6 {
		t.Errorf("%d lines of the audit, want one for each of 6 reads", n)
	}
	if strings.Contains(string(entries), fmt.Sprintf(`"user_id":%d`, elsewhere)) {
		t.Error("a refused read is in the audit")
	}
}

func TestRefusedRequestsSayWhatToDo(t *testing.T) {
	mine := user(t, ownLab, 3)
	expired := token(t, map[string]any{"lab_id": ownLab, "exp": 1_700_000_000})
	for name, listener := range listeners() {
		search := func(who credential, body string, more ...credential) answer {
			return who.send(t, http.MethodPost, listener+searchPath, body, more...)
		}
		const fine = `{"query":"rahul"}`
		for what, got := range map[string]answer{
			"no credential":                       search(credential{}, fine),
			"an unknown session":                  search(credential{"Cookie", "sessionid=stranger"}, fine),
			"a token that is none":                search(credential{"Authorization", "Bearer nonsense"}, fine),
			"a token that is over":                search(expired, fine),
			"a bad token beside a good session":   search(expired, fine, cookie(t, ownLab, 2)),
			"the detail without a credential":     credential{}.detail(t, listener, 940_001),
			"a token without its scheme in front": search(credential{"Authorization", strings.TrimPrefix(mine.value, "Bearer ")}, fine),
		} {
			refusal(t, what+" at the "+name, got, http.StatusUnauthorized, "")
			if got.header.Get("WWW-Authenticate") == "" {
				t.Errorf("%s: no WWW-Authenticate", what)
			}
		}
		for body, details := range map[string]string{
			`{}`:             "query",
			`{"query":"  "}`: "query",
			`{"query":"` + strings.Repeat("x", 129) + `"}`:                        "128",
			`{"query":"a","search_key":"name"}`:                                   "2",
			`{"query":"rahul","search_key":"colour"}`:                             "search_key",
			`{"query":"rahul","search_fields":["colour"]}`:                        "colour",
			`{"query":"rahul","search_key":"bill","search_fields":["full_name"]}`: "full_name",
			`{"query":"rahul","size":0}`:                                          "size",
			`{"query":"rahul","size":101}`:                                        "size",
			`{"query":"rahul","from":9991}`:                                       "from",
			`{"query":"rahul","from":10,"page":2}`:                                "page",
			`{"query":"rahul","size":5,"limit":10}`:                               "limit",
			`{"query":"rahul","q":"anita"}`:                                       "q",
			`{"query":"rahul","lab_id":` + strconv.FormatInt(otherLab, 10) + `}`:  "lab_id",
			`{"query":["rahul"]}`:                                                 "query",
			`{"query":`:                                                           "",
			`[]`:                                                                  "",
		} {
			refusal(t, body+" at the "+name, search(mine, body), http.StatusBadRequest, details)
		}
		refusal(t, "no laboratory", search(token(t, map[string]any{"lab_user_id": 3}), fine), http.StatusBadRequest, "lab_id")
		refusal(t, "a word for a number", mine.send(t, http.MethodGet, listener+"/api/v1/users/rahul", ""), http.StatusBadRequest, "user_id")
		refusal(t, "a path that is none", mine.send(t, http.MethodGet, listener+"/api/v1/users/1/2", ""), http.StatusNotFound, "")
		refusal(t, "another method", mine.send(t, http.MethodDelete, listener+searchPath, ""), http.StatusMethodNotAllowed, "")
	}
}

func TestPathsAndLiterals(t *testing.T) {
	const id, plain = 940_020, 940_021
	mine := user(t, ownLab, 4)
	register(t, ownLab, id, "Percival 100% Ogilvie", "9812345690", "STSAMPLE-20")
	register(t, ownLab, plain, "Percival Oglethorpe", "9812345691", "STSAMPLE-21")
	mine.sees(t, "percival og", id, plain)
	mine.sees(t, "100% ogilvie", id)
	for _, text := range []string{"p%l", "p_rcival", "p*l", "p?rcival", "%%", "**", "percival OR hortensia", "full_name:percival", "/.*/", `percival" OR "a`} {
		body, err := json.Marshal(map[string]string{"query": text, "search_key": "name"})
		if err != nil {
			t.Fatal(err)
		}
		for name, listener := range listeners() {
			if f, err := mine.search(t, listener, string(body)); err != nil || f.Total != 0 {
				t.Errorf("%q at the %s is no literal: %+v, error %v", text, name, f, err)
			}
		}
	}
	bases := []string{platform.Endpoints.Gateway, platform.Endpoints.Search, platform.Endpoints.Search + searchPrefix}
	for _, base := range bases {
		for _, slash := range []string{"", "/"} {
			if got := mine.send(t, http.MethodPost, base+searchPath+slash, `{"query":"9812345690"}`); got.status != http.StatusOK || !strings.Contains(got.body, `"user_id":940020`) {
				t.Errorf("POST %s%s: %d %s", base, searchPath+slash, got.status, got.body)
			}
			if got := mine.send(t, http.MethodGet, base+"/api/v1/users/940020"+slash, ""); got.status != http.StatusOK {
				t.Errorf("GET %s/api/v1/users/940020%s: %d %s", base, slash, got.status, got.body)
			}
		}
	}
	for _, path := range []string{"/health", "/health/live", "/health/ready", "/metrics"} {
		for _, base := range bases[1:] { // the service's own port
			for _, slash := range []string{"", "/"} {
				if got := (credential{}).send(t, http.MethodGet, base+path+slash, ""); got.status != http.StatusOK {
					t.Errorf("GET %s: %d %s", base+path+slash, got.status, got.body)
				}
			}
		}
	}
}

// modeKey is the Redis key in which operators set the mode of the rate limit.
const modeKey = "search:rate_limit_mode"

func TestInAnEmergencyEverybodyHasFiveSearchesAMinute(t *testing.T) {
	setMode := func(mode string) { store(t, fmt.Sprintf(`{"redis":{"string":{%q:%q}}}`, modeKey, mode)) }
	inMode := func(mode string) {
		t.Helper()
		await.Nil(t, "the mode "+mode, func() error {
			metrics := credential{}.send(t, http.MethodGet, platform.Endpoints.Search+"/metrics", "").body
			if !strings.Contains(metrics, `search_rate_limit_mode{mode="`+mode+`"} 1`) {
				return errors.New("the metrics do not say so")
			}
			return nil
		})
	}
	setMode("emergency")
	t.Cleanup(func() { setMode("normal") })
	inMode("emergency")
	mine, session := user(t, ownLab, 50), cookie(t, ownLab, 50) // one user with two kinds of login
	for n := range 5 {
		who, listener := mine, platform.Endpoints.Gateway
		if n%2 == 1 {
			who, listener = session, platform.Endpoints.Search
		}
		f, err := who.search(t, listener, `{"query":"rahul"}`)
		if err != nil || !f.Degraded {
			t.Fatalf("search %d: degraded %v, error %v", n+1, f.Degraded, err)
		}
	}
	for name, listener := range listeners() {
		got := mine.send(t, http.MethodPost, listener+searchPath, `{"query":"rahul"}`)
		refusal(t, "the sixth at the "+name, got, http.StatusTooManyRequests, "5")
		if wait, err := strconv.Atoi(got.header.Get("Retry-After")); err != nil || wait < 1 || wait > 60 {
			t.Errorf("Retry-After %q", got.header.Get("Retry-After"))
		}
	}
	if _, err := user(t, ownLab, 51).search(t, platform.Endpoints.Gateway, `{"query":"rahul"}`); err != nil {
		t.Errorf("another person: %v", err)
	}
	if _, err := user(t, otherLab, 50).search(t, platform.Endpoints.Gateway, `{"query":"rahul"}`); err != nil {
		t.Errorf("another laboratory: %v", err)
	}
	setMode("normal")
	inMode("normal")
	if f, err := mine.search(t, platform.Endpoints.Gateway, `{"query":"rahul"}`); err != nil || f.Degraded {
		t.Errorf("back to normal: %+v, error %v", f, err)
	}
}
