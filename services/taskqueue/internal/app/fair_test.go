package app_test

import (
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/labplatform/labplatform/pkg/testkit/await"
	taskqueuev1 "github.com/labplatform/labplatform/proto/gen/lab/taskqueue/v1"
)

// Sizes of the floods. Floods of this kind once delayed all other laboratories; these are smaller.
const (
	floodLab, otherLab = 1, 2
	fairP95            = 2 * time.Second
	rerunWithin        = 5 * time.Second
)

// flood enqueues n webhooks of a laboratory, spread over urls.
func (p *process) flood(lab int64, n int, urls ...string) {
	p.t.Helper()
	client, ctx := p.client()
	for n > 0 {
		in := &taskqueuev1.EnqueueRequest{LabId: &lab}
		for range min(n, 500) {
			in.Tasks = append(in.Tasks, &taskqueuev1.Task{Task: 4, TaskType: 2, Data: webhookData(urls[len(in.Tasks)%len(urls)])})
		}
		if _, err := client.Enqueue(ctx, in); err != nil {
			p.t.Fatal(err)
		}
		n -= len(in.Tasks)
	}
}

// clocked is a receiver that records when each path was first requested.
type clocked struct {
	*httptest.Server
	mu sync.Mutex // guards at
	at map[string]time.Time
}

func newClocked(t *testing.T) *clocked {
	c := &clocked{at: map[string]time.Time{}}
	c.Server = httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		c.mu.Lock()
		defer c.mu.Unlock()
		if _, known := c.at[r.URL.Path]; !known {
			c.at[r.URL.Path] = now()
		}
	}))
	t.Cleanup(c.Close)
	return c
}

func (c *clocked) arrival(path string) (time.Time, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	at, ok := c.at[path]
	return at, ok
}

// slow returns a receiver that responds after d, or when the test ends.
func slow(t *testing.T, d time.Duration) *httptest.Server {
	quit := make(chan struct{})
	s := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		timer := time.NewTimer(d)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-r.Context().Done():
		case <-quit:
		}
	}))
	t.Cleanup(func() {
		close(quit)
		s.CloseClientConnections()
		s.Close()
	})
	return s
}

func TestALaboratoryThatFloodsASlowReceiverDelaysNobodyElse(t *testing.T) {
	t.Parallel()
	receiver := slow(t, 2*time.Second)
	othersStayFast(t, 5000, receiver.URL)
}

func TestALaboratoryWhoseReceiversHangDelaysNobodyElse(t *testing.T) {
	t.Parallel()
	var urls []string
	for range 6 {
		urls = append(urls, slow(t, time.Hour).URL)
	}
	othersStayFast(t, 1000, urls...)
}

func othersStayFast(t *testing.T, n int, urls ...string) {
	t.Helper()
	platform, other := newClocked(t), newClocked(t)
	p := newProcess(t, "TASKQUEUE_INTERNAL_ORIGINS="+platform.URL, "TASKQUEUE_INTERNAL_NETWORKS=127.0.0.0/8", "TASKQUEUE_OUTBOX_ENABLED=false")
	p.ready()
	p.flood(floodLab, n, urls...)
	const deliveries = 20
	var took []time.Duration
	for i := range deliveries {
		path := "/" + strconv.Itoa(i)
		began := now()
		p.flood(otherLab, 1, other.URL+path)
		p.flood(floodLab, 1, platform.URL+"/rerun"+path) // an automatic rerun of the same laboratory
		await.True(t, "the other laboratory's delivery", func() bool { _, ok := other.arrival(path); return ok })
		await.True(t, "the automatic rerun", func() bool { _, ok := platform.arrival("/rerun" + path); return ok })
		at, _ := other.arrival(path)
		rerun, _ := platform.arrival("/rerun" + path)
		took = append(took, at.Sub(began))
		if late := rerun.Sub(began); late > rerunWithin {
			t.Errorf("an automatic rerun took %v", late)
		}
	}
	slices.Sort(took)
	p95 := took[deliveries*95/100-1]
	t.Logf("p95 %v, longest %v", p95, took[deliveries-1])
	if p95 > fairP95 {
		t.Errorf("p95 of the other laboratory is %v, want at most %v: %v", p95, fairP95, strings.TrimSpace(p.log.String()))
	}
}
