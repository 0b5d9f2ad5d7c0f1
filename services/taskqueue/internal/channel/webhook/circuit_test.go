package webhook

import (
	"context"
	"errors"
	"testing"
	"time"
)

func TestPathsOfOneKindShareACircuitAndOthersDoNot(t *testing.T) {
	t.Parallel()
	for path, want := range map[string]string{
		"/bill/17/paid": "/bill/*/paid", "/hook": "/hook", "": "", "/v1/r-9f3": "/*/*", "/a/b": "/a/b",
	} {
		if got := pathClass(path); got != want {
			t.Errorf("%q is of class %q, want %q", path, got, want)
		}
	}
}

func TestAFailingPathOfOneLaboratoryStopsNeitherItsOtherPathsNorOtherLaboratories(t *testing.T) {
	t.Parallel()
	h := newHosts(4)
	enter := func(lab int64) *host {
		one, ok := h.enter(t.Context(), lab, "https://example.com:443")
		if !ok {
			t.Fatal("no place")
		}
		h.leave(one)
		return one
	}
	failing := h.circuit(enter(1), "/bad/1")
	for range breakerFailures {
		failing.Do(func() error { return errors.New("down") })
	}
	passes := func(lab int64, path string) bool {
		return h.circuit(enter(lab), path).Do(func() error { return nil }) == 0
	}
	if passes(1, "/bad/2") {
		t.Error("the failing kind of path is not paused")
	}
	if !passes(1, "/good") || !passes(2, "/bad/1") {
		t.Error("another path or another laboratory is paused too")
	}
}

func TestOneLaboratoryCannotTakeThePlacesOfAnotherAtAReceiver(t *testing.T) {
	t.Parallel()
	h := newHosts(1)
	h.patience = time.Millisecond
	if _, ok := h.enter(t.Context(), 1, "https://example.com:443"); !ok {
		t.Fatal("no place")
	}
	if _, ok := h.enter(context.Background(), 1, "https://example.com:443"); ok {
		t.Error("a second request passed the limit")
	}
	if _, ok := h.enter(t.Context(), 2, "https://example.com:443"); !ok {
		t.Error("the other laboratory has no place")
	}
}

func TestKnownReceiversAreForgottenAndPausedOnesLast(t *testing.T) {
	t.Parallel()
	h := newHosts(1)
	pass := func(lab int64) *host {
		one, ok := h.enter(t.Context(), lab, "https://example.com:443")
		if !ok {
			t.Fatal("no place")
		}
		h.leave(one)
		return one
	}
	down := h.circuit(pass(0), "/")
	for range breakerFailures {
		down.Do(func() error { return errors.New("down") })
	}
	for lab := range int64(maxKnownHosts) {
		pass(lab + 1)
	}
	if len(h.known) >= maxKnownHosts || !h.circuit(pass(0), "/").IsOpen() {
		t.Errorf("%d known, the paused one among them: %t", len(h.known), h.circuit(pass(0), "/").IsOpen())
	}
}
