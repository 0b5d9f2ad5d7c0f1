package elastic_test

import (
	"context"
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/elastic/go-elasticsearch/v8/esapi"

	"github.com/labplatform/labplatform/pkg/apperr"
	"github.com/labplatform/labplatform/pkg/clock"
	"github.com/labplatform/labplatform/pkg/config"
	engine "github.com/labplatform/labplatform/pkg/elastic"
	"github.com/labplatform/labplatform/services/cdc/indextest"
	"github.com/labplatform/labplatform/services/search/internal/search"
	"github.com/labplatform/labplatform/services/search/internal/store/elastic"
)

// server starts an HTTP server in place of the engine, and returns its address.
func server(t testing.TB, handler http.HandlerFunc) string {
	t.Helper()
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Elastic-Product", "Elasticsearch")
		w.Header().Set("Content-Type", "application/json")
		handler(w, r)
	}))
	t.Cleanup(web.Close)
	return web.URL
}

// scripted returns a store that uses the handler as its engine.
func scripted(t testing.TB, handler http.HandlerFunc, change ...func(*elastic.Config)) *elastic.Store {
	t.Helper()
	client, err := engine.Open(engine.Config{URLs: []string{server(t, handler)}, RequestTimeout: 30, MaxConnections: 4}, engine.Deps{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Close() })
	cfg := settings()
	for _, f := range change {
		f(&cfg)
	}
	return elastic.New(client, cfg, clock.Fixed(now))
}

func answers(status int, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}
}

const secret = "canary-of-a-patient"

func refusal(kind string) string {
	return `{"error":{"root_cause":[{"type":"` + kind + `","reason":"` + secret + `"}],"type":"` + kind + `","reason":"` + secret + `"}}`
}

func TestWhatAFailureMeansToTheCaller(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		handler http.HandlerFunc
		kind    apperr.Kind
		reason  string
		cause   string
	}{
		"overloaded":            {answers(429, refusal("es_rejected_execution_exception")), apperr.Unavailable, "SEARCH_UNAVAILABLE", "429"},
		"down":                  {answers(503, refusal("no_shard_available_action_exception")), apperr.Unavailable, "SEARCH_UNAVAILABLE", "503"},
		"a proxy":               {answers(502, "<html>"), apperr.Unavailable, "SEARCH_UNAVAILABLE", "502"},
		"no index":              {answers(404, refusal("index_not_found_exception")), apperr.Unavailable, "SEARCH_UNAVAILABLE", "cdc migrate"},
		"credentials":           {answers(401, refusal("security_exception")), apperr.Unavailable, "SEARCH_UNAVAILABLE", "ES_API_KEY"},
		"a lost connection":     {func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, apperr.Unavailable, "SEARCH_UNAVAILABLE", "EOF"},
		"a mistake of ours":     {answers(400, refusal("parsing_exception")), apperr.Internal, "", ""},
		"late and empty":        {answers(200, `{"timed_out":true,"hits":{"total":{"value":0},"hits":[]}}`), apperr.DeadlineExceeded, "SEARCH_TIMEOUT", ""},
		"a shard failed, empty": {answers(200, `{"_shards":{"failed":1},"hits":{"total":{"value":0},"hits":[]}}`), apperr.Unavailable, "SEARCH_UNAVAILABLE", "shard"},
		"no JSON":               {answers(200, `{"hits":`), apperr.Unavailable, "SEARCH_UNAVAILABLE", "read response"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := scripted(t, c.handler).Search(t.Context(), lab(t, 7), query(t, secret, search.All), search.Full)
			e, _ := apperr.From(err)
			if err == nil || apperr.KindOf(err) != c.kind {
				t.Fatalf("error %v", err)
			}
			if strings.Contains(err.Error(), secret) {
				t.Errorf("the error says %q", err)
			}
			if c.reason == "" {
				return
			}
			if e.Reason != c.reason || !strings.Contains(e.Message, "try again") {
				t.Errorf("reason %s, message %q", e.Reason, e.Message)
			}
			if c.kind == apperr.Unavailable && e.RetryAfter <= 0 {
				t.Error("no one knows when to try again")
			}
			if cause := e.Unwrap(); c.cause != "" && (cause == nil || !strings.Contains(cause.Error(), c.cause) || strings.Contains(cause.Error(), secret)) {
				t.Errorf("the log gets %v", cause)
			}
		})
	}
}

func TestASearchEndsWithItsCaller(t *testing.T) {
	t.Parallel()
	slow := func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // otherwise the server does not detect that the client disconnected
		<-r.Context().Done()
	}
	short, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := scripted(t, slow).Search(short, lab(t, 7), query(t, "rahul", search.All), search.Full); !apperr.Is(err, apperr.DeadlineExceeded) {
		t.Errorf("after the deadline: %v", err)
	}
	gone, leave := context.WithCancel(t.Context())
	leave()
	if _, err := scripted(t, slow).Search(gone, lab(t, 7), query(t, "rahul", search.All), search.Full); !apperr.Is(err, apperr.Canceled) {
		t.Errorf("after the caller left: %v", err)
	}
	limited := scripted(t, slow, func(c *elastic.Config) { c.SearchTimeout = 1 })
	if _, err := limited.Search(t.Context(), lab(t, 7), query(t, "rahul", search.All), search.Full); !apperr.Is(err, apperr.DeadlineExceeded) {
		t.Errorf("after the time for a search: %v", err)
	}
}

func TestPartOfAnAnswerIsBetterThanNone(t *testing.T) {
	t.Parallel()
	for name, body := range map[string]string{
		"late":           `{"timed_out":true,"took":7,"hits":{"total":{"value":1,"relation":"eq"},"hits":[` + hit(`{"user_id":5}`, 10, 5) + `]}}`,
		"a shard failed": `{"_shards":{"failed":1},"took":7,"hits":{"total":{"value":1,"relation":"eq"},"hits":[` + hit(`{"user_id":5}`, 10, 5) + `]}}`,
	} {
		r, err := scripted(t, answers(200, body)).Search(t.Context(), lab(t, 7), query(t, "rahul", search.All), search.Full)
		if err != nil || !r.Partial || len(r.Hits) != 1 || r.Hits[0].UserID != 5 || r.Took != 7*time.Millisecond {
			t.Errorf("%s: %+v, %v", name, r, err)
		}
	}
}

func TestATextThatCanMatchNothingAsksNobody(t *testing.T) {
	t.Parallel()
	store := scripted(t, func(_ http.ResponseWriter, r *http.Request) { t.Errorf("request %s", r.URL) })
	for text, key := range map[string]search.Key{"rahul": "bill", "98-ab": "contact", "..": "contact"} {
		r, err := store.Search(t.Context(), lab(t, 7), query(t, text, key), search.Full)
		if err != nil || r.Total != 0 || len(r.ByBucket) != len(search.Buckets()) {
			t.Errorf("%q by %s: %+v, %v", text, key, r, err)
		}
	}
}

func TestTheEngineHasLessTimeThanTheCaller(t *testing.T) {
	t.Parallel()
	var body string
	store := scripted(t, func(w http.ResponseWriter, r *http.Request) {
		all, _ := io.ReadAll(r.Body)
		body = string(all)
		if r.URL.String() != "/user_details_schema7/_search?routing=7" {
			t.Errorf("request %s", r.URL)
		}
		answers(200, `{"hits":{"total":{"value":1,"relation":"eq"},"hits":[]}}`)(w, r)
	}, func(c *elastic.Config) { c.SearchTimeout = 5 })
	for limit, want := range map[time.Duration]string{time.Hour: `"timeout":"4`, 2 * time.Second: `"timeout":"1`} {
		ctx, cancel := context.WithTimeout(t.Context(), limit)
		_, err := store.Search(ctx, lab(t, 7), query(t, "rahul", search.All), search.Full)
		cancel()
		if err != nil || !strings.Contains(body, want) {
			t.Errorf("within %s: %s, error %v", limit, body, err)
		}
	}
}

func TestReadyAsksForTheAliasAndTheSchema(t *testing.T) {
	t.Parallel()
	meta := func(domain, schema, alias string) string {
		return `{"user_details_v3":{"aliases":{"user_details":{},"` + alias + `":{}},"mappings":{"_meta":{"version_domain":"` + domain + `","schema":` + schema + `}}}}`
	}
	const asked = "user_details_schema"
	for name, c := range map[string]struct {
		handler http.HandlerFunc
		words   string
	}{
		"fits":           {answers(200, meta("user_meta.rev", "7", asked+"7")), ""},
		"the one before": {answers(200, meta("user_meta.rev", "6", asked+"6")), ""},
		"a later one":    {answers(200, meta("user_meta.rev", "8", asked+"8")), "cdc rebuild"},
		"another domain": {answers(200, meta("offset", "3", asked+"3")), "cdc rebuild"},
		"another schema": {answers(200, meta("user_meta.rev", "1", asked+"1")), "cdc rebuild"},
		"another alias":  {answers(200, meta("user_meta.rev", "7", asked+"6")), "user_details_schema7"},
		"no meta":        {answers(200, `{"user_details":{"mappings":{}}}`), "cdc rebuild"},
		"no alias":       {answers(404, refusal("index_not_found_exception")), "cdc migrate"},
		"down":           {answers(503, ""), "503"},
	} {
		err := scripted(t, c.handler).Ready(t.Context())
		if c.words == "" && err != nil || c.words != "" && (err == nil || !strings.Contains(err.Error(), c.words)) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestReadinessAsksNoMaster checks that readiness does not depend on an elected master, because a cluster without one
// can be searched.
func TestReadinessAsksNoMaster(t *testing.T) {
	t.Parallel()
	store := scripted(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Get("local") != "true" {
			answers(503, `{"error":{"type":"master_not_discovered_exception"}}`)(w, r)
			return
		}
		answers(200, `{"u":{"aliases":{"user_details_schema7":{}},"mappings":{"_meta":{"version_domain":"user_meta.rev","schema":7}}}}`)(w, r)
	})
	if err := store.Ready(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestTheIndexOfThePipelineIsReady(t *testing.T) {
	t.Parallel()
	i := open(t)
	if err := i.store.Ready(t.Context()); err != nil {
		t.Errorf("index of %s %d: %v", indextest.VersionDomain, indextest.Schema, err)
	}
	taken := fmt.Sprintf(`{"actions":[{"remove":{"index":"%s_v*","alias":"%s_schema%d"}}]}`, i.Alias(), i.Alias(), indextest.Schema)
	if err := i.client.Do(t.Context(), engine.Call{Name: "aliases", Request: esapi.IndicesUpdateAliasesRequest{}, Body: []byte(taken)}, nil); err != nil {
		t.Fatal(err)
	}
	if err := i.store.Ready(t.Context()); err == nil || !strings.Contains(err.Error(), "cdc gives it back") {
		t.Errorf("an index that no search asks: %v", err)
	}
	missing := i.with(func(c *elastic.Config) { c.Alias += "_none" })
	if err := missing.Ready(t.Context()); err == nil || !strings.Contains(err.Error(), "cdc migrate") {
		t.Errorf("a missing index: %v", err)
	}
	if _, err := missing.Search(t.Context(), lab(t, 7), query(t, "rahul", search.All), search.Full); !apperr.Is(err, apperr.Unavailable) {
		t.Errorf("a search without an index: %v", err)
	}
}

func TestSettings(t *testing.T) {
	t.Parallel()
	var cfg struct{ elastic.Config }
	if err := config.Load("SEARCH_", &cfg, nil); err != nil {
		t.Fatal(err)
	}
	if c := cfg.Config; c.SearchTimeout != 5 || c.RecencyEnabled || c.RecencyScaleDays != 90 || c.RecencyOffsetDays != 7 || c.RecencyFactor != 0.5 || c.RecencyWeight != 1.5 ||
		c.Alias != "user_details" || strings.Join(c.PhoneCountryCodes, " ") != "91 0" {
		t.Errorf("defaults %+v", c)
	}
	for _, bad := range []string{"ES_SEARCH_TIMEOUT=0", "RECENCY_DECAY_SCALE_DAYS=0", "RECENCY_DECAY_OFFSET_DAYS=-1", "RECENCY_DECAY_FACTOR=1", "RECENCY_DECAY_FACTOR=0",
		"RECENCY_DECAY_WEIGHT=4.1", "RECENCY_DECAY_WEIGHT=-1", "PHONE_COUNTRY_CODES=+91"} {
		if err := config.Load("SEARCH_", &cfg, []string{"SEARCH_" + bad}); err == nil {
			t.Errorf("%s is accepted", bad)
		}
	}
}

// hit returns a hit as JSON, as in the engine's response.
func hit(card string, score float64, userID int64) string {
	return fmt.Sprintf(`{"fields":{"card":[%q]},"sort":[%v,%d]}`, base64.StdEncoding.EncodeToString([]byte(card)), score, userID)
}

var oneHit = `{"hits":{"total":{"value":1,"relation":"eq"},"hits":[` + hit(`{"user_id":1,"lab_id":7}`, 5, 1) + `]}}`

func TestWhenTheSecondRequestFailsTheFirstOnesHitsAreAnAnswerInPart(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		first string
		want  int
	}{"some": {oneHit, 1}, "no one": {`{"hits":{"total":{"value":0,"relation":"eq"},"hits":[]}}`, 0}} {
		var requests atomic.Int32
		store := scripted(t, func(w http.ResponseWriter, r *http.Request) {
			if requests.Add(1) == 1 {
				answers(200, c.first)(w, r)
				return
			}
			answers(500, refusal("too_many_clauses"))(w, r)
		})
		r, err := store.Search(t.Context(), lab(t, 7), query(t, "rahul", search.All), search.Full)
		if len(r.Hits) != c.want || (err == nil) != (c.want > 0) || r.Partial != (c.want > 0) || r.ByBucket[search.Patient] != int64(c.want) {
			t.Errorf("%s: %+v, error %v", name, r, err)
		}
	}
}

// TestHitsBeyondThePageAreCountedByTheEngineOnlyWhenTheyMayBeOfIdentifiers checks that another request counts the hits
// of a number if there are more than the page shows.
func TestHitsBeyondThePageAreCountedByTheEngineOnlyWhenTheyMayBeOfIdentifiers(t *testing.T) {
	t.Parallel()
	many := `{"hits":{"total":{"value":40,"relation":"eq"},"hits":[` + hit(`{"user_id":1,"lab_id":7}`, 5, 1) + `]},` +
		`"aggregations":{"buckets":{"buckets":{"patient":{"doc_count":30},"bill":{"doc_count":10}}}}}`
	for text, want := range map[string]struct{ requests, patients, bills int64 }{"rahul": {1, 40, 0}, "9001": {2, 30, 10}} {
		var requests atomic.Int64
		store := scripted(t, func(w http.ResponseWriter, r *http.Request) {
			requests.Add(1)
			answers(200, many)(w, r)
		})
		r, err := store.Search(t.Context(), lab(t, 7), query(t, text, search.All), search.Full)
		if err != nil || requests.Load() != want.requests || r.ByBucket[search.Patient] != want.patients || r.ByBucket[search.Bill] != want.bills {
			t.Errorf("%q: %d requests, buckets %v, error %v", text, requests.Load(), r.ByBucket, err)
		}
	}
}
