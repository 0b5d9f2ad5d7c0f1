package watch_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/services/externaledit/internal/session"
	"github.com/labplatform/labplatform/services/externaledit/internal/store/storetest"
	"github.com/labplatform/labplatform/services/externaledit/internal/watch"
)

// log is a log in memory. deaf drops its signals.
type log struct {
	mu      sync.Mutex
	entries []watch.Entry
	signal  chan struct{}
	deaf    bool
}

func (l *log) add(n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for range n {
		l.entries = append(l.entries, watch.Entry{ID: fmt.Sprintf("%d-0", len(l.entries)+1), Event: "e", Data: "{}"})
	}
	if !l.deaf {
		select {
		case l.signal <- struct{}{}:
		default:
		}
	}
}

func (l *log) Last(context.Context, string) (string, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.entries) == 0 {
		return watch.Start, nil
	}
	return l.entries[len(l.entries)-1].ID, nil
}

func (l *log) After(_ context.Context, _, id string, limit int) ([]watch.Entry, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	at := 1 + slices.IndexFunc(l.entries, func(e watch.Entry) bool { return e.ID == id })
	return slices.Clone(l.entries[at:min(at+limit, len(l.entries))]), nil
}

func (l *log) Listen(context.Context, string) (<-chan struct{}, func(), error) {
	return l.signal, func() {}, nil
}

// only7001 is a fake that has one report.
type only7001 struct{}

func (only7001) Report(_ context.Context, scope authn.LabScope, id int64) (session.Report, error) {
	if scope.LabID() != 12 || id != 7001 {
		return session.Report{}, session.ErrNoReport
	}
	return session.Report{ID: id}, nil
}

type gauge struct{}

func (gauge) Watching(int) {}

func newWatch(t *testing.T, l *log) *watch.UseCase {
	t.Helper()
	return watch.New(watch.Deps{Reports: only7001{}, Log: l, Gauge: gauge{}, MaxAge: 15 * time.Minute})
}

// reader collects the entries that it receives.
type reader struct {
	mu  sync.Mutex
	ids []string
}

func (r *reader) send(e watch.Entry) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ids = append(r.ids, e.ID)
	return nil
}

func (r *reader) has(want ...string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Equal(r.ids, want)
}

func TestAReaderGetsWhatComesFromNowOn(t *testing.T) {
	t.Parallel()
	for _, deaf := range []bool{false, true} { // a lost signal delays events but loses none
		synctest.Test(t, func(t *testing.T) {
			l, r := &log{signal: make(chan struct{}, 1), deaf: deaf}, &reader{}
			l.add(2)
			done := make(chan error)
			go func() { done <- newWatch(t, l).Watch(t.Context(), storetest.Scope(t, 12), 7001, "", r.send) }()
			synctest.Wait()
			l.add(1)
			time.Sleep(time.Minute)
			if !r.has("2-0", "3-0") {
				t.Errorf("deaf %t: %v", deaf, r.ids)
			}
			if err := <-done; err != nil { // after MaxAge
				t.Error(err)
			}
		})
	}
}

func TestAReaderThatComesBackGetsWhatItMissed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l, r := &log{signal: make(chan struct{}, 1)}, &reader{}
		l.add(250)
		done := make(chan error)
		ctx, leave := context.WithCancel(t.Context())
		go func() { done <- newWatch(t, l).Watch(ctx, storetest.Scope(t, 12), 7001, "3-0", r.send) }()
		synctest.Wait()
		if len(r.ids) != 248 || r.ids[0] != "3-0" || r.ids[247] != "250-0" {
			t.Errorf("%d: %v", len(r.ids), r.ids)
		}
		leave()
		if err := <-done; !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	})
}

func TestAnotherLaboratoryReadsNothing(t *testing.T) {
	t.Parallel()
	err := newWatch(t, &log{}).Watch(t.Context(), storetest.Scope(t, 13), 7001, "", (&reader{}).send)
	if !errors.Is(err, session.ErrNoReport) {
		t.Error(err)
	}
}
