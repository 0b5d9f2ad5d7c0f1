package app

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

type engine struct {
	err   error
	warms int
}

func (e *engine) Ready(context.Context) error { return e.err }

func (e *engine) Warm(context.Context) {
	e.warms++
	time.Sleep(5 * time.Second)
}

func TestAProcessIsReadyOnceTheEngineIsWarmAndStaysSoWhenItComesBack(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		away := errors.New("away")
		e := &engine{err: away}
		w := &warmUp{index: e}
		probe := func(want error, warms int) {
			t.Helper()
			if err := w.Ready(t.Context()); !errors.Is(err, want) || (want == nil) != (err == nil) {
				t.Fatalf("error %v, want %v", err, want)
			}
			synctest.Wait()
			if e.warms != warms {
				t.Fatalf("warmed up %d times, want %d", e.warms, warms)
			}
		}
		probe(away, 0)
		e.err = nil
		probe(errWarming, 1)
		time.Sleep(2 * time.Second)
		probe(errWarming, 1)
		time.Sleep(4 * time.Second)
		probe(nil, 1)
		e.err = away
		probe(away, 1)
		e.err = nil
		probe(nil, 2) // a restarted engine is cold, but slow responses are better than errors
		time.Sleep(6 * time.Second)
		probe(nil, 2)
	})
}
