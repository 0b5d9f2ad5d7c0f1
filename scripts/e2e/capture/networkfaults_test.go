package capture

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/labplatform/labplatform/pkg/testkit/netfault"
)

// answerWithin is the maximum time of a response: a search's deadline of five seconds, plus time for a busy machine.
const answerWithin = 10 * time.Second

// faultLasts returns a time longer than a search. With LAB_LONG_TESTS it is also longer than the timeouts of Kafka's
// clients.
func faultLasts() time.Duration {
	if long() {
		return 40 * time.Second
	}
	return 6 * time.Second
}

var networkFaults = []struct {
	name  string
	begin func(*netfault.Link)
}{
	{"silent", (*netfault.Link).Silence},
	{"half-open", (*netfault.Link).SilenceResponses},
	{"slow", func(l *netfault.Link) { l.Slow(100*time.Millisecond, 1<<20) }},
	{"cut", (*netfault.Link).Cut},
}

// TestWhatASearchSeesOfAFaultInTheNetwork prints a table: for each fault of Kafka and of the index, the responses to
// searches, and the time after its end until a patient registered meanwhile is found. None may be lost.
func TestWhatASearchSeesOfAFaultInTheNetwork(t *testing.T) {
	index := netfault.New(t, hostOf(platform.Endpoints.Elasticsearch))
	behindLink(t, "search", map[string]string{"SEARCH_ES_URL": "http://" + index.Addr()})
	behindLink(t, "cdc", map[string]string{"CDC_ES_URL": "http://" + index.Addr()})
	mine, next := user(t, ownLab, 5), int64(948_000)
	registerNext := func() (id int64, name string) {
		next++
		name = fmt.Sprintf("Faultline Patient%d", next)
		register(t, ownLab, next, name, fmt.Sprintf("98%08d", next), fmt.Sprintf("FAULT-%d", next))
		return next, name
	}
	known, knownName := registerNext()
	mine.sees(t, knownName, known)
	var table strings.Builder
	for _, engine := range []struct {
		name string
		link *netfault.Link
	}{{"Kafka", broker}, {"Elasticsearch", index}} {
		for _, fault := range networkFaults {
			fault.begin(engine.link)
			begin := time.Now()
			id, name := registerNext()
			got := mine.send(t, http.MethodPost, platform.Endpoints.Search+searchPath, `{"query":"`+knownName+`"}`)
			took := time.Since(begin)
			rest(faultLasts() - took)
			engine.link.Restore()
			repaired := time.Now()
			mine.sees(t, name, id)
			fmt.Fprintf(&table, "%-14s %-10s %4.1f s  %d   %4.1f s\n", engine.name, fault.name, took.Seconds(), got.status,
				time.Since(repaired).Seconds())
			documented := got.status == http.StatusOK || engine.link == index &&
				(got.status == http.StatusServiceUnavailable || got.status == http.StatusGatewayTimeout)
			if !documented || took > answerWithin {
				t.Errorf("%s %s: after %v %d %s", engine.name, fault.name, took, got.status, got.body)
			}
		}
	}
	t.Logf("\n%-14s %-10s %-13s found after\n%s", "engine", "fault", "a search", table.String())
}

// behindLink restarts a part of the platform with changed settings until the test ends.
func behindLink(t *testing.T, name string, change map[string]string) {
	t.Helper()
	start := func(change map[string]string) {
		if err := platform.Stop(name); err != nil {
			t.Error(err)
		}
		if err := platform.Start(name, change); err != nil {
			t.Error(err)
		}
	}
	start(change)
	t.Cleanup(func() { start(nil) })
}
