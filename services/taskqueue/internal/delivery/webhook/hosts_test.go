package webhook

import (
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
	if h.enter(t.Context(), 1, "https://example.com:443") == nil {
		t.Fatal("no place")
	}
	if h.enter(t.Context(), 1, "https://example.com:443") != nil {
		t.Error("a second request passed the limit")
	}
	if h.enter(t.Context(), 2, "https://example.com:443") == nil {
		t.Error("the other laboratory has no place")
	}
}

func TestIdleReceiversAreForgottenAndBusyOnesNot(t *testing.T) {
	t.Parallel()
	h := newHosts(1)
	h.patience = time.Millisecond
	enter := func(lab int64) func() {
		leave := h.enter(t.Context(), lab, "https://example.com:443")
		if leave == nil {
			t.Fatal("no place")
		}
		return leave
	}
	leave := enter(0)
	enter(1)()
	if len(h.busy) != 1 || h.enter(t.Context(), 0, "https://example.com:443") != nil {
		t.Errorf("%d known, the busy one not among them", len(h.busy))
	}
	leave()
	if enter(0)(); len(h.busy) != 0 {
		t.Errorf("%d known", len(h.busy))
	}
}
