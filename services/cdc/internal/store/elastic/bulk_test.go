package elastic_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/labplatform/labplatform/services/cdc/internal/document"
	"github.com/labplatform/labplatform/services/cdc/internal/indexsync"
	"github.com/labplatform/labplatform/services/cdc/internal/store/elastic/enginetest"
)

// recorded returns a handler that sends a recorded response of a real server, and the number of its items.
func recorded(t *testing.T, name string) (http.HandlerFunc, int) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", "recorded", name+".json"))
	if err != nil {
		t.Fatal(err)
	}
	var exchange struct {
		Response struct {
			Status int
			Body   json.RawMessage
		}
	}
	var body struct{ Items []json.RawMessage }
	if json.Unmarshal(text, &exchange) != nil || json.Unmarshal(exchange.Response.Body, &body) != nil {
		t.Fatalf("%s is no recording", name)
	}
	return func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(exchange.Response.Status)
		_, _ = w.Write(exchange.Response.Body)
	}, len(body.Items)
}

func someOps(n int) []document.Op {
	ops := make([]document.Op, n)
	for i := range ops {
		ops[i] = document.Op{ID: int64(i), Route: 7, Version: 3, Body: []byte(`{}`)}
	}
	return ops
}

func TestWhatTheServerSaysOfEachOperation(t *testing.T) {
	t.Parallel()
	const w, s, p = indexsync.Written, indexsync.Superseded, indexsync.Poison
	for name, want := range map[string][]indexsync.Verdict{
		"098-bulk-mixed":                  {w, w, s, s, w, w, w, w, p, p, p, p, p, p, p, p, w, p, p, p, w, p, w},
		"106-bulk-empty-id":               {p},
		"119-bulk-require-alias-index":    {indexsync.Gone},
		"120-bulk-require-alias-missing":  {indexsync.Gone},
		"085-auto-create-off-bulk-delete": {indexsync.Gone},
		"124-bulk-flood-block":            {indexsync.Later, indexsync.Later},
		"128-bulk-write-block":            {indexsync.Later},
		"282-unassigned-bulk":             {indexsync.Later},
		"294-alias-no-write-bulk":         {indexsync.Broken},
		"bulk-item-429-rejected":          {indexsync.Busy, w},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			answer, items := recorded(t, name)
			fates, err := scripted(t, answer).Bulk(t.Context(), "user_details", someOps(items))
			if err != nil {
				t.Fatal(err)
			}
			var got []indexsync.Verdict
			for _, fate := range fates {
				got = append(got, fate.Verdict)
				if (fate.Verdict == w) != (fate.Kind == "") || (fate.Verdict == indexsync.Broken) != (fate.Advice != "") {
					t.Errorf("fate %+v", fate)
				}
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestWhatTheServerSaysOfAWholeRequest(t *testing.T) {
	t.Parallel()
	plain := func(status int, body string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(status)
			fmt.Fprint(w, body)
		}
	}
	from := func(name string) http.HandlerFunc {
		answer, _ := recorded(t, name)
		return answer
	}
	const later, busy, broken = indexsync.Later, indexsync.Busy, indexsync.Broken
	for name, c := range map[string]struct {
		answer http.HandlerFunc
		want   indexsync.Refusal
	}{
		"an unreadable line":        {from("108-bulk-one-malformed-line"), indexsync.Refusal{Verdict: later, Cause: indexsync.Malformed, Kind: "x_content_e_o_f_exception"}},
		"no final newline":          {from("112-bulk-no-newline"), indexsync.Refusal{Verdict: later, Cause: indexsync.Malformed, Kind: "illegal_argument_exception"}},
		"an id that is too long":    {from("107-bulk-long-id"), indexsync.Refusal{Verdict: later, Cause: indexsync.Malformed, Kind: "action_request_validation_exception"}},
		"too large":                 {plain(413, ""), indexsync.Refusal{Verdict: later, Cause: indexsync.TooLarge, Kind: "status_413"}},
		"indexing pressure":         {from("bulk-429-indexing-pressure"), indexsync.Refusal{Verdict: busy, Kind: "es_rejected_execution_exception"}},
		"a busy proxy":              {plain(429, ""), indexsync.Refusal{Verdict: busy, Kind: "status_429"}},
		"bad gateway":               {plain(502, "<html>"), indexsync.Refusal{Verdict: busy, Kind: "status_502"}},
		"unavailable":               {plain(503, ""), indexsync.Refusal{Verdict: busy, Kind: "status_503"}},
		"gateway timeout":           {plain(504, ""), indexsync.Refusal{Verdict: busy, Kind: "status_504"}},
		"no master":                 {plain(503, `{"error":{"type":"cluster_block_exception"}}`), indexsync.Refusal{Verdict: later, Kind: "cluster_block_exception"}},
		"a defect of the server":    {plain(500, `{"error":{"type":"null_pointer_exception"}}`), indexsync.Refusal{Verdict: later, Kind: "null_pointer_exception"}},
		"wrong credentials":         {plain(401, `{"error":{"type":"security_exception"}}`), indexsync.Refusal{Verdict: broken, Kind: "security_exception"}},
		"not allowed":               {plain(403, `{"error":{"type":"security_exception"}}`), indexsync.Refusal{Verdict: broken, Kind: "security_exception"}},
		"no index":                  {plain(404, `{"error":{"type":"index_not_found_exception"}}`), indexsync.Refusal{Verdict: indexsync.Gone, Kind: "index_not_found_exception"}},
		"another server":            {plain(405, ""), indexsync.Refusal{Verdict: broken, Kind: "status_405"}},
		"a closed index":            {plain(400, `{"error":{"type":"index_closed_exception"}}`), indexsync.Refusal{Verdict: broken, Kind: "index_closed_exception"}},
		"a proxy that did not wait": {plain(408, ""), indexsync.Refusal{Verdict: later, Kind: "status_408"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := scripted(t, c.answer).Bulk(t.Context(), "user_details", someOps(2))
			var got *indexsync.Refusal
			if !errors.As(err, &got) || got.Err == nil || (got.Verdict == broken) != (got.Advice != "") {
				t.Fatalf("refusal %+v, error %v", got, err)
			}
			if diff := cmp.Diff(c.want, *got, cmpopts.IgnoreFields(indexsync.Refusal{}, "Err", "Advice")); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestAnAnswerThatIsCutOffLeavesEverythingOpen(t *testing.T) {
	t.Parallel()
	for name, answer := range map[string]http.HandlerFunc{
		"a lost connection":    func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
		"half an answer":       func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, `{"items":[{"index":{"status":201}}`) },
		"an answer of one":     func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, `{"items":[{"index":{"status":201}}]}`) },
		"an empty item":        func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, `{"items":[{"index":{"status":201}},{}]}`) },
		"an answer about else": func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, `[1]`) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := scripted(t, answer).Bulk(t.Context(), "user_details", someOps(2))
			var refused *indexsync.Refusal
			if err == nil || errors.As(err, &refused) {
				t.Fatalf("error %v", err)
			}
		})
	}
}

func TestARequestNamesItsAliasAndWaitsLessThanWe(t *testing.T) {
	t.Parallel()
	var got *http.Request
	s := scripted(t, func(w http.ResponseWriter, r *http.Request) {
		got = r
		fmt.Fprint(w, `{"items":[{"index":{"status":201}}]}`)
	})
	if _, err := s.Bulk(t.Context(), "user_details_next", someOps(1)); err != nil {
		t.Fatal(err)
	}
	q := got.URL.Query()
	if got.URL.Path != "/user_details_next/_bulk" || q.Get("require_alias") != "true" || q.Get("timeout") != "2500ms" {
		t.Errorf("request %s", got.URL)
	}
}

// one executes one operation on the real server and returns its fate.
func one(t *testing.T, s *enginetest.Server, op document.Op) indexsync.Fate {
	t.Helper()
	fates, err := s.Bulk(t.Context(), s.Live(), []document.Op{op})
	if err != nil {
		t.Fatal(err)
	}
	return fates[0]
}

func TestTheRealServerKeepsTheHigherVersion(t *testing.T) {
	t.Parallel()
	s := enginetest.Ensured(t)
	body := func(id, lab int64) []byte {
		return fmt.Appendf(nil, `{"user_id":%d,"lab_id":%d,"is_deleted":false}`, id, lab)
	}
	for _, step := range []struct {
		what string
		op   document.Op
		want indexsync.Verdict
	}{
		{"a document at 2v+1", document.Op{ID: 1, Route: 8, Version: 21, Body: body(1, 8)}, indexsync.Written},
		{"the same again", document.Op{ID: 1, Route: 8, Version: 21, Body: body(1, 8)}, indexsync.Written},
		{"a blank at 2v on another route of the same shard", document.Op{ID: 1, Route: 7, Version: 20, Body: body(1, 7)}, indexsync.Superseded},
		{"a late delete at 2v there", document.Op{ID: 1, Route: 7, Version: 20}, indexsync.Superseded},
		{"a blank at 2v on another shard", document.Op{ID: 1, Route: 1, Version: 20, Body: body(1, 1)}, indexsync.Written},
		{"the removal at 2v+2", document.Op{ID: 1, Route: 8, Version: 22}, indexsync.Written},
		{"the removal again", document.Op{ID: 1, Route: 8, Version: 22}, indexsync.Written},
		{"the document again", document.Op{ID: 1, Route: 8, Version: 21, Body: body(1, 8)}, indexsync.Superseded},
		{"the next rev", document.Op{ID: 1, Route: 8, Version: 23, Body: body(1, 8)}, indexsync.Written},
		{"the largest version there is", document.Op{ID: 1, Route: 8, Version: 1<<63 - 1, Body: body(1, 8)}, indexsync.Written},
	} {
		if got := one(t, s, step.op); got.Verdict != step.want {
			t.Errorf("%s: %+v", step.what, got)
		}
	}
}

func TestTheRealServersRefusals(t *testing.T) {
	t.Parallel()
	good := document.Op{ID: 1, Route: 8, Version: 3, Body: []byte(`{"user_id":1}`)}
	for name, c := range map[string]struct {
		spoil func(*enginetest.Server)
		op    document.Op
		want  indexsync.Fate
	}{
		"a stray field": {nil, document.Op{ID: 1, Route: 8, Version: 3, Body: []byte(`{"nope":1}`)},
			indexsync.Fate{Verdict: indexsync.Poison, Kind: "strict_dynamic_mapping_exception"}},
		"a value of another type": {nil, document.Op{ID: 1, Route: 8, Version: 3, Body: []byte(`{"lab_id":"x"}`)},
			indexsync.Fate{Verdict: indexsync.Poison, Kind: "document_parsing_exception"}},
		"an immense term": {nil, document.Op{ID: 1, Route: 8, Version: 3, Body: []byte(`{"sample_ids":["` + strings.Repeat("S", 40_000) + `"]}`)},
			indexsync.Fate{Verdict: indexsync.Poison, Kind: "document_parsing_exception"}},
		"no alias": {func(s *enginetest.Server) { s.Send(http.MethodDelete, "/"+s.Alias+"_v1/_alias/"+s.Alias, nil, nil) }, good,
			indexsync.Fate{Verdict: indexsync.Gone, Kind: "index_not_found_exception"}},
		"a write block": {func(s *enginetest.Server) {
			s.Send(http.MethodPut, "/"+s.Alias+"_v1/_settings", `{"index.blocks.write":true}`, nil)
		}, good,
			indexsync.Fate{Verdict: indexsync.Later, Kind: "cluster_block_exception"}},
		"a full disk": {func(s *enginetest.Server) {
			s.Send(http.MethodPut, "/"+s.Alias+"_v1/_settings", `{"index.blocks.read_only_allow_delete":true}`, nil)
		}, good,
			indexsync.Fate{Verdict: indexsync.Later, Kind: "cluster_block_exception"}},
		"no write index": {func(s *enginetest.Server) {
			s.Send(http.MethodPut, "/"+s.Alias+"_v1/_alias/"+s.Alias, `{"is_write_index":false}`, nil)
		}, good,
			indexsync.Fate{Verdict: indexsync.Broken, Kind: "illegal_argument_exception"}},
		"a closed index": {func(s *enginetest.Server) { s.Send(http.MethodPost, "/"+s.Alias+"_v1/_close", nil, nil) }, good,
			indexsync.Fate{Verdict: indexsync.Broken, Kind: "index_closed_exception"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := enginetest.Ensured(t)
			if c.spoil != nil {
				c.spoil(s)
			}
			got := one(t, s, c.op)
			if diff := cmp.Diff(c.want, got, cmpopts.IgnoreFields(indexsync.Fate{}, "Advice")); diff != "" {
				t.Error(diff)
			}
		})
	}
}
