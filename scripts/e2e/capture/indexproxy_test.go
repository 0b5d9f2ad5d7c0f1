package capture

import (
	"bytes"
	"encoding/json"
	"io"
	"log"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// indexProxy is a proxy in front of the search engine that makes bulk requests fail at random: refused completely or
// partly, executed with the response lost, or slow. Refused operations never reach the engine.
type indexProxy struct {
	*httptest.Server
	target *url.URL
	faulty atomic.Bool
	down   atomic.Bool // every bulk request is refused
	counts faultCounts

	mu  sync.Mutex
	rng *rand.Rand // guarded by mu
}

type faultCounts struct{ refused, unavailable, partial, lost, slow, clean atomic.Int64 }

func newIndexProxy(t *testing.T, target string, seed uint64) *indexProxy {
	t.Helper()
	u, err := url.Parse(target)
	if err != nil {
		t.Fatal(err)
	}
	p := &indexProxy{target: u, rng: rand.New(rand.NewPCG(seed, 99))}
	quiet := log.New(io.Discard, "", 0) // errors are expected while engines are unavailable
	pass := httputil.NewSingleHostReverseProxy(u)
	pass.ErrorLog = quiet
	p.Server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch bulk := r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, "/_bulk"); {
		case bulk && p.down.Load():
			refuse(w, http.StatusServiceUnavailable, "unavailable_shards_exception")
		case bulk && p.faulty.Load():
			p.bulk(w, r, pass)
		default:
			pass.ServeHTTP(w, r)
		}
	}))
	p.Config.ErrorLog = quiet
	p.Start()
	t.Cleanup(p.Close)
	return p
}

func (p *indexProxy) draw(n int) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.rng.IntN(n)
}

func (p *indexProxy) bulk(w http.ResponseWriter, r *http.Request, pass http.Handler) {
	switch draw := p.draw(100); {
	case draw < 5:
		p.counts.refused.Add(1)
		refuse(w, http.StatusTooManyRequests, "es_rejected_execution_exception")
	case draw < 10:
		p.counts.unavailable.Add(1)
		refuse(w, http.StatusServiceUnavailable, "cluster_block_exception")
	case draw < 15:
		p.counts.lost.Add(1)
		pass.ServeHTTP(httptest.NewRecorder(), r)
		panic(http.ErrAbortHandler) // resets the connection
	case draw < 20:
		p.counts.slow.Add(1)
		rest(300 * time.Millisecond)
		pass.ServeHTTP(w, r)
	case draw < 60:
		p.counts.partial.Add(1)
		p.partly(w, r)
	default:
		p.counts.clean.Add(1)
		pass.ServeHTTP(w, r)
	}
}

func refuse(w http.ResponseWriter, status int, kind string) {
	w.Header().Set("Content-Type", "application/vnd.elasticsearch+json;compatible-with=8")
	w.Header().Set("X-Elastic-Product", "Elasticsearch")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(map[string]any{"status": status, "error": map[string]any{"type": kind, "reason": "the proxy's"}})
}

// item is one operation of a bulk request: its action line and, for an index operation, the document's line.
type item struct {
	action string
	lines  [][]byte
	meta   map[string]any
}

func items(body []byte) []item {
	var all []item
	lines := bytes.Split(bytes.TrimSuffix(body, []byte("\n")), []byte("\n"))
	for i := 0; i < len(lines); i++ {
		var action map[string]map[string]any
		if json.Unmarshal(lines[i], &action) != nil {
			return nil
		}
		for name, meta := range action {
			one := item{action: name, lines: lines[i : i+1], meta: meta}
			if name != "delete" {
				i++
				one.lines = lines[i-1 : i+1]
			}
			all = append(all, one)
		}
	}
	return all
}

// partly forwards about half of the operations and returns 429 for the others, each at its position.
func (p *indexProxy) partly(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	all := items(body)
	if err != nil || all == nil {
		refuse(w, http.StatusBadRequest, "illegal_argument_exception")
		return
	}
	var through bytes.Buffer
	passed := make([]bool, len(all))
	some := false
	for i, one := range all {
		if passed[i] = p.draw(2) == 0; passed[i] {
			some = true
			for _, line := range one.lines {
				through.Write(line)
				through.WriteByte('\n')
			}
		}
	}
	var answers []json.RawMessage
	if some {
		if answers, err = p.forward(r, &through); err != nil {
			panic(http.ErrAbortHandler)
		}
	}
	merged := make([]any, 0, len(all))
	for i, one := range all {
		if passed[i] {
			if len(answers) == 0 {
				panic(http.ErrAbortHandler)
			}
			merged, answers = append(merged, answers[0]), answers[1:]
			continue
		}
		merged = append(merged, map[string]any{one.action: map[string]any{"_index": one.meta["_index"], "_id": one.meta["_id"], "status": 429,
			"error": map[string]any{"type": "es_rejected_execution_exception", "reason": "the proxy's"}}})
	}
	w.Header().Set("Content-Type", "application/vnd.elasticsearch+json;compatible-with=8")
	w.Header().Set("X-Elastic-Product", "Elasticsearch")
	_ = json.NewEncoder(w).Encode(map[string]any{"took": 1, "errors": true, "items": merged})
}

func (p *indexProxy) forward(r *http.Request, body io.Reader) ([]json.RawMessage, error) {
	to := *r.URL
	to.Scheme, to.Host = p.target.Scheme, p.target.Host
	request, err := http.NewRequestWithContext(r.Context(), r.Method, to.String(), body)
	if err != nil {
		return nil, err
	}
	request.Header = r.Header.Clone()
	request.Header.Del("Content-Length")
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	var answer struct {
		Items []json.RawMessage `json:"items"`
	}
	return answer.Items, json.NewDecoder(response.Body).Decode(&answer)
}
