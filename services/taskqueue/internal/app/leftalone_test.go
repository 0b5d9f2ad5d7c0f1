package app_test

import (
	"net/http"
	"net/http/httptest"
	"regexp"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/labplatform/labplatform/pkg/testkit/await"
	"github.com/labplatform/labplatform/pkg/testkit/redistest"
)

// number returns the sum over the processes' metrics series that begin with the given text.
func number(list []*process, series string) (sum int) {
	pattern := regexp.MustCompile(`(?m)^` + regexp.QuoteMeta(series) + ` (\d+)$`)
	for _, p := range list {
		_, body := p.get("/metrics")
		if found := pattern.FindStringSubmatch(body); found != nil {
			n, _ := strconv.Atoi(found[1])
			sum += n
		}
	}
	return sum
}

// TestADatabaseThatIsOffIsNotUnavailable checks that the metric of the alert QueueDatabaseAway does not report a
// database that is turned off.
func TestADatabaseThatIsOffIsNotUnavailable(t *testing.T) {
	t.Parallel()
	p := newProcess(t, "TASKQUEUE_DB_ENABLED=false")
	p.ready()
	if up := number([]*process{p}, "taskqueue_database_up"); up != 1 {
		t.Errorf("taskqueue_database_up is %d, want 1", up)
	}
}

// TestAReceiverThatIsDownIsLeftAloneByEveryProcess: a receiver is down while two processes have three hundred jobs for
// it. Both must pause it instead of retrying each job. After it recovers, one job tests it, then all are delivered.
func TestAReceiverThatIsDownIsLeftAloneByEveryProcess(t *testing.T) {
	t.Parallel()
	const jobs = 300
	var up atomic.Bool
	var asked, sent atomic.Int64
	receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if !up.Load() {
			asked.Add(1)
			w.WriteHeader(http.StatusBadGateway)
			return
		}
		sent.Add(1)
	}))
	t.Cleanup(receiver.Close)
	server := redistest.Start(t)
	both := []*process{newProcessOn(t, server, "TASKQUEUE_DB_ENABLED=false"), newProcessOn(t, server, "TASKQUEUE_DB_ENABLED=false")}
	for _, p := range both {
		p.ready()
	}
	both[0].flood(floodLab, jobs, receiver.URL+"/bill/17/paid")
	claims := func() int { return number(both, `taskqueue_claimed_total{channel="webhook"}`) }
	await.True(t, "the pause in both processes", func() bool { return number(both, "taskqueue_receivers_paused") == 2 })
	await.True(t, "every job's claim", func() bool { return claims() >= jobs })
	before := asked.Load()
	if held, err := server.Client().HGetAll(t.Context(), "tq:held").Result(); err != nil || len(held) != 1 {
		t.Errorf("got %v, %v, want 1", held, err)
	}
	up.Store(true)
	await.True(t, "the deliveries", func() bool { return sent.Load() == jobs })
	t.Logf("asked %d times while it was down, %d claims for %d jobs", before, claims(), jobs)
	if n := claims(); n > 3*jobs || before > 2*jobs/3 { // jobs in progress in both processes when the pause began
		t.Errorf("%d claims of %d jobs, asked %d times while it was down", n, jobs, before)
	}
	await.True(t, "the end of the pause", func() bool { return number(both, "taskqueue_receivers_paused") == 0 })
	for _, p := range both {
		if strings.Contains(p.log.String(), "level=ERROR") {
			t.Error(p.log.String())
		}
	}
}
