package webhook

import (
	"context"
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

func TestIdleReceiversAreForgottenAndBusyOnesNot(t *testing.T) {
	t.Parallel()
	h := newHosts(1)
	enter := func(lab int64) *host {
		one, ok := h.enter(t.Context(), lab, "https://example.com:443")
		if !ok {
			t.Fatal("no place")
		}
		return one
	}
	busy := enter(0)
	for lab := range int64(maxKnownHosts) {
		h.leave(enter(lab + 1))
	}
	if len(h.known) >= maxKnownHosts || h.use("0 https://example.com:443") != busy {
		t.Errorf("%d known, the busy one among them: %t", len(h.known), h.known["0 https://example.com:443"] == busy)
	}
}
