package main

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/labplatform/labplatform/scripts/e2e/conformance"
)

// answerWithin is the maximum time of a response: the ten seconds of a request, plus time for a busy machine.
const answerWithin = 15 * time.Second

// answers is a transport that records the responses to callers, and compares them with the API document.
type answers struct {
	*conformance.Recorder // compares with the API document
	plain                 http.RoundTripper
	broken                func() []fault

	mu         sync.Mutex
	counts     map[answer]int     // guarded by mu
	took       map[string][]timed // durations of responses 200, by operation; guarded by mu
	refused    map[string]int     // responses 400 to 422 by operation; guarded by mu
	since      map[int]int        // refusals by status since the current fault began; guarded by mu
	violations []string           // guarded by mu
}

// answer is an outcome; Status 0 means no response.
type answer struct {
	Status int
	Broken bool // a fault was active, or had ended less than the time to recover ago
}

// timed is the duration of a response and the time of its request.
type timed struct {
	at   time.Time
	took time.Duration
}

func newAnswers(broken func() []fault) (*answers, error) {
	plain := &http.Transport{MaxIdleConnsPerHost: 32}
	recorder, err := conformance.Wrap(plain)
	return &answers{Recorder: recorder, plain: plain, broken: broken, counts: map[answer]int{},
		took: map[string][]timed{}, refused: map[string]int{}, since: map[int]int{}}, err
}

func (a *answers) RoundTrip(request *http.Request) (*http.Response, error) {
	begin := time.Now()
	before := a.broken()
	next := http.RoundTripper(a.Recorder)
	if mixesReleases(before) {
		next = a.plain
	}
	response, err := next.RoundTrip(request)
	status, took := 0, time.Since(begin)
	if err == nil {
		status = response.StatusCode
	} else if request.Context().Err() != nil && took < answerWithin {
		return response, err // the caller cancelled the request
	}
	faults := append(before, a.broken()...)
	a.mu.Lock()
	defer a.mu.Unlock()
	a.counts[answer{status, len(faults) > 0}]++
	name := operation(request.Method, request.URL.Path)
	if status == http.StatusOK {
		a.took[name] = append(a.took[name], timed{begin, took})
		return response, err
	}
	what := request.Method + " " + request.URL.Path
	a.since[status]++
	if status >= http.StatusBadRequest && status <= http.StatusUnprocessableEntity {
		a.refused[name]++
	}
	switch {
	case status == 0 && !slices.ContainsFunc(faults, silences):
		a.violations = append(a.violations, fmt.Sprintf("%s was not answered after %.1f s: %v", what, took.Seconds(), err))
	case status != 0 && took > answerWithin:
		a.violations = append(a.violations, fmt.Sprintf("%s was answered with %d after %.1f s", what, status, took.Seconds()))
	case status >= http.StatusInternalServerError && len(faults) == 0:
		a.violations = append(a.violations, fmt.Sprintf("%s was answered with %d while nothing was broken, at %s, request %s",
			what, status, time.Now().UTC().Format(time.TimeOnly), response.Header.Get("X-Request-Id")))
	}
	return response, err
}

// neverAccepted returns a violation for each operation that was refused again and again and never succeeded: the people
// send a wrong request, and the promises that would follow are not tested. The caller holds mu.
func (a *answers) neverAccepted() (violations []string) {
	for _, name := range slices.Sorted(maps.Keys(a.refused)) {
		if n := a.refused[name]; n > 1 && len(a.took[name]) == 0 {
			violations = append(violations, fmt.Sprintf("%s was refused %d times and never succeeded", name, n))
		}
	}
	return violations
}

// silences reports whether callers may get no response because of the fault. They connect to the gateway directly, so
// only faults of its process do that.
func silences(f fault) bool { return f.target == "gateway" || f.target == everything }

// take returns the unsuccessful responses since the last call, by status.
func (a *answers) take() map[int]int {
	a.mu.Lock()
	defer a.mu.Unlock()
	taken := a.since
	a.since = map[int]int{}
	return taken
}
