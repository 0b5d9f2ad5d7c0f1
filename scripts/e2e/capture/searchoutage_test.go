package capture

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/labplatform/labplatform/pkg/testkit/await"
)

// health is the body of GET /health.
type health struct {
	Status       string
	Dependencies map[string]string
	CDC          struct {
		Status           string
		DataAgeSeconds   *float64 `json:"data_age_seconds"`
		ThresholdSeconds float64  `json:"threshold_seconds"`
		LastProbeAt      string   `json:"last_probe_at"`
	}
}

// healthSays waits until /health, which always returns 200, has the status and reports only the dependency down as
// down; "" means none. It then expects /health/ready to return 200, or 503 if a dependency is down.
func healthSays(t *testing.T, status, down string) {
	t.Helper()
	await.Nil(t, "health being "+status+" "+down, func() error {
		got := credential{}.send(t, http.MethodGet, platform.Endpoints.Search+"/health", "")
		var h health
		if err := json.Unmarshal([]byte(got.body), &h); err != nil || got.status != http.StatusOK {
			t.Fatalf("/health: %d %s", got.status, got.body)
		}
		for _, name := range []string{"search_index", "key_value_cache", "relational_database"} {
			want := "up"
			if name == down {
				want = "down"
			}
			if h.Dependencies[name] != want {
				return fmt.Errorf("%s", got.body)
			}
		}
		if h.Status != status || len(h.Dependencies) != 3 {
			return fmt.Errorf("%s", got.body)
		}
		return nil
	})
	got := credential{}.send(t, http.MethodGet, platform.Endpoints.Search+"/health/ready", "")
	code, word := http.StatusOK, `"ready"`
	if down != "" {
		code, word = http.StatusServiceUnavailable, `"not_ready"`
	}
	if got.status != code || !strings.Contains(got.body, word) || !strings.Contains(got.body, `"search_index"`) {
		t.Errorf("/health/ready: %d %s", got.status, got.body)
	}
	if got := (credential{}).send(t, http.MethodGet, platform.Endpoints.Search+"/health/live", ""); got.status != http.StatusOK || strings.TrimSpace(got.body) != `{"status":"alive"}` {
		t.Errorf("/health/live: %d %s", got.status, got.body)
	}
}

func TestWithoutTheIndexThereIsDetailAndNoSearch(t *testing.T) {
	const id = 940_030
	mine := user(t, ownLab, 5)
	register(t, ownLab, id, "Wilhelmina Thornbury", "9812345700", "STSAMPLE-30")
	mine.sees(t, "wilhelmina thornbury", id)
	healthSays(t, "healthy", "")
	if err := platform.Kill("elasticsearch"); err != nil {
		t.Fatal(err)
	}
	for name, listener := range listeners() {
		got := mine.send(t, http.MethodPost, listener+searchPath, `{"query":"wilhelmina"}`)
		refusal(t, "a search at the "+name, got, http.StatusServiceUnavailable, "again")
		if got.header.Get("Retry-After") == "" {
			t.Error("no Retry-After")
		}
		if got := mine.detail(t, listener, id); got.status != http.StatusOK || !strings.Contains(got.body, "Wilhelmina Thornbury") {
			t.Errorf("detail at the %s: %d %s", name, got.status, got.body)
		}
	}
	healthSays(t, "degraded", "search_index")
	if err := platform.Start("elasticsearch", nil); err != nil {
		t.Fatal(err)
	}
	mine.sees(t, "wilhelmina thornbury", id)
	healthSays(t, "healthy", "")
}

func TestWithoutTheCacheTokensWorkAndNobodyIsLoggedOut(t *testing.T) {
	const id = 940_040
	mine, session := user(t, ownLab, 6), cookie(t, ownLab, 7)
	register(t, ownLab, id, "Bartholomea Fenwick", "9812345710", "STSAMPLE-40")
	session.sees(t, "bartholomea fenwick", id)
	if err := platform.Kill("redis"); err != nil {
		t.Fatal(err)
	}
	mine.sees(t, "bartholomea fenwick", id)
	for name, listener := range listeners() {
		got := session.send(t, http.MethodPost, listener+searchPath, `{"query":"bartholomea"}`)
		refusal(t, "a session at the "+name, got, http.StatusServiceUnavailable, "")
		if got.header.Get("Retry-After") == "" {
			t.Error("no Retry-After")
		}
		if got := mine.detail(t, listener, id); got.status != http.StatusOK {
			t.Errorf("detail at the %s: %d %s", name, got.status, got.body)
		}
	}
	healthSays(t, "degraded", "key_value_cache")
	if err := platform.Start("redis", nil); err != nil {
		t.Fatal(err)
	}
	session.sees(t, "bartholomea fenwick", id)
	healthSays(t, "healthy", "")
}

// TestNothingThatIsSearchedForIsToldToMachines checks that logs and metrics contain no search texts: it sends marked
// values through every response of the search and looks for them.
func TestNothingThatIsSearchedForIsToldToMachines(t *testing.T) {
	const id = 940_050
	const name, contact, sample, nonsense = "Xanthippe Vongole", "9876504321", "ZQSEARCH-4711", "Qwzyx Brmpft"
	mine, session := user(t, ownLab, 8), cookie(t, ownLab, 9)
	register(t, ownLab, id, name, contact, sample)
	for _, text := range []string{name, contact, sample} {
		mine.sees(t, text, id)
	}
	session.sees(t, nonsense)
	for _, listener := range listeners() {
		mine.detail(t, listener, id)
		for _, body := range []string{`{"query":"` + nonsense + `","search_key":"` + nonsense + `"}`, `{"query":"` + nonsense, `{"query":"` + nonsense + `","q":"` + name + `"}`,
			`{"query":"` + nonsense + `","search_fields":["` + sample + `"]}`, `{"query":{"` + name + `":"` + contact + `"}}`} {
			if got := mine.send(t, http.MethodPost, listener+searchPath, body); got.status != http.StatusBadRequest {
				t.Errorf("%s: got %d, want status 400", body, got.status)
			}
		}
		mine.send(t, http.MethodGet, listener+"/api/v1/users/Vongole", "")
	}
	said := map[string]string{}
	for _, pattern := range []string{"search.log*", "gateway.log*"} {
		files, err := filepath.Glob(filepath.Join(platform.Dir, "logs", pattern))
		if err != nil || len(files) == 0 {
			t.Fatal("no log of", pattern, err)
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			said[filepath.Base(file)] = string(text)
		}
	}
	said["metrics of the search"] = credential{}.send(t, http.MethodGet, platform.Endpoints.Search+"/metrics", "").body
	said["metrics of the gateway"] = credential{}.send(t, http.MethodGet, "http://127.0.0.1:"+platform.Endpoints.Environ["gateway"]["GATEWAY_ADMIN_PORT"]+"/metrics", "").body
	said["health"] = credential{}.send(t, http.MethodGet, platform.Endpoints.Search+"/health", "").body
	for where, text := range said {
		if len(text) == 0 {
			t.Errorf("%s says nothing", where)
		}
		for _, canary := range []string{"Xanthippe", "xanthippe", "Vongole", "vongole", contact, "98765 04321", sample, strings.ToLower(sample), "Qwzyx", "Brmpft", "STORD-940050", "sessionid="} {
			if at := strings.Index(text, canary); at >= 0 {
				t.Errorf("%s says %q: …%s…", where, canary, text[max(0, at-200):min(len(text), at+100)])
			}
		}
	}
	for _, metric := range []string{"search_data_age_seconds", "search_cdc_healthy", "search_queries_total", "search_query_duration_seconds", "search_query_hits", "search_zero_results_total",
		"search_auth_total", "search_bucket_hits_total"} {
		if !strings.Contains(said["metrics of the search"], "\n"+metric) {
			t.Errorf("there is no metric %s", metric)
		}
	}
}
