package capture

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"
)

const (
	searchers   = 3 // concurrent users
	searchPause = 250 * time.Millisecond
	searchLimit = time.Second // a longer search is slow
)

// searcher continuously searches for patients who exist.
type searcher struct {
	who   credential
	known []string // names that one patient each has

	mu     sync.Mutex
	counts searchCounts // guarded by mu
}

type searchCounts struct {
	asked, failed, slow int
	inPart              int // found the patient, and reported that others may be missing
	unready             int // failed readiness probes
	slowest             time.Duration
	problems            []string
}

func startSearching(t *testing.T) *searcher {
	t.Helper()
	s := &searcher{who: user(t, ownLab, 5)}
	for n, name := range []string{"Wilhelmina Thornbury", "Zebedee Okonkwo", "Gulbahar Yusufzai", "Xiomara Pfefferkorn", "Dhruva Bhattacharjee"} {
		register(t, ownLab, 960_001+int64(n), name, fmt.Sprintf("97%08d", n), fmt.Sprintf("STEADY-%d", n))
		s.known = append(s.known, name)
	}
	for n, name := range s.known {
		s.who.sees(t, name, 960_001+int64(n))
	}
	stop := make(chan struct{})
	var all sync.WaitGroup
	for first := range searchers {
		all.Go(func() {
			for n := first; ; n++ {
				select {
				case <-stop:
					return
				default:
				}
				s.ask(n % len(s.known))
				if first == 0 {
					s.probe()
				}
				rest(searchPause)
			}
		})
	}
	t.Cleanup(func() { close(stop); all.Wait() })
	return s
}

// ask searches for the n-th known patient and records the duration and any error.
func (s *searcher) ask(n int) {
	begin := time.Now()
	inPart, err := s.search(n)
	s.note(time.Since(begin), inPart, err)
}

func (s *searcher) search(n int) (inPart bool, err error) {
	request, err := http.NewRequest(http.MethodPost, platform.Endpoints.Search+searchPath, strings.NewReader(`{"query":"`+s.known[n]+`"}`))
	if err != nil {
		return false, err
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set(s.who.name, s.who.value)
	response, err := (&http.Client{Timeout: answerWithin}).Do(request)
	if err != nil {
		return false, err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	var f found
	if err == nil && response.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s %s", response.Status, text)
	}
	if err == nil {
		err = json.Unmarshal(text, &f)
	}
	if err == nil && (len(f.Results) == 0 || f.Results[0].UserID != 960_001+int64(n)) {
		err = fmt.Errorf("%s finds %s", s.known[n], text)
	}
	return f.Degraded, err
}

func (s *searcher) note(took time.Duration, inPart bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := &s.counts
	c.asked++
	c.slowest = max(c.slowest, took)
	if took > searchLimit {
		c.slow++
	}
	if inPart {
		c.inPart++
	}
	if err != nil {
		c.failed++
		c.problems = append(c.problems, fmt.Sprintf("%s after %.1f s: %v", time.Now().Format(time.TimeOnly), took.Seconds(), err))
	}
}

// probe checks that the search service is ready. Its readiness must not depend on the index's master.
func (s *searcher) probe() {
	text, err := fetch(http.MethodGet, platform.Endpoints.Search+"/health/ready", "")
	if err == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.counts.unready++
	s.counts.problems = append(s.counts.problems, fmt.Sprintf("%s not ready: %v %s", time.Now().Format(time.TimeOnly), err, text))
}

func (s *searcher) begin() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.counts = searchCounts{}
}

// end returns the counts since begin. It fails the test if a search failed.
func (s *searcher) end(t *testing.T) searchCounts {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.counts
	if c.failed+c.unready > 0 {
		t.Errorf("%d of %d searches failed, not ready %d times: %s", c.failed, c.asked, c.unready, strings.Join(c.problems[:min(6, len(c.problems))], "\n"))
	}
	return c
}
