package webhook

import (
	"context"
	"encoding/base64"
	"errors"
	"net/http"
	"strings"
	"testing"
	"testing/fstest"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"github.com/labplatform/labplatform/pkg/clock"
	"github.com/labplatform/labplatform/pkg/testkit/redistest"
	"github.com/labplatform/labplatform/services/taskqueue/internal/delivery/provider"
	copies "github.com/labplatform/labplatform/services/taskqueue/internal/store/redis"
)

// rows is a fake table in a database that may be unavailable.
type rows struct {
	list []Subscriber
	err  error
}

func (r *rows) Subscribers(context.Context) ([]Subscriber, error) { return r.list, r.err }

func whsec(filler string) string {
	return "whsec_" + base64.StdEncoding.EncodeToString([]byte(strings.Repeat(filler, 32)))
}

func file(text string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(text + "\n")} }

// signed returns headers signed now with the signer of a receiver.
func signed(t *testing.T, s *Subscribers, lab int64, origin string) http.Header {
	t.Helper()
	h := http.Header{}
	signer, _ := s.of(lab, origin+":443")
	if signer == nil {
		t.Fatalf("no signer of %s", origin)
	}
	signer.Sign(h, "01JOB", clock.System{}.Now(), []byte(`{"a":1}`))
	return h
}

// accepts reports whether the reference library of Standard Webhooks accepts the signature.
func accepts(t *testing.T, secret string, h http.Header) bool {
	t.Helper()
	receiver, err := standardwebhooks.NewWebhook(secret)
	if err != nil {
		t.Fatal(err)
	}
	return receiver.Verify([]byte(`{"a":1}`), h) == nil
}

func TestAReceiversSecretIsRotatedWithoutARejectedRequest(t *testing.T) {
	t.Parallel()
	const origin = "https://api.example.com"
	table := &rows{list: []Subscriber{{LabID: 12, Origin: origin, Secret: "old"}, {Origin: origin, Secret: "everybody"}}}
	files := fstest.MapFS{"old": file(whsec("o")), "new": file(whsec("n")), "everybody": file(whsec("e"))}
	s := NewSubscribers(table, provider.Directory{Root: files}, cache(t))
	expect := func(step string, lab int64, old, fresh, everybody bool) {
		t.Helper()
		if err := s.RunOnce(t.Context()); err != nil {
			t.Fatal(err)
		}
		h := signed(t, s, lab, origin)
		for secret, want := range map[string]bool{whsec("o"): old, whsec("n"): fresh, whsec("e"): everybody} {
			if accepts(t, secret, h) != want {
				t.Errorf("%s: accepted by %.12s: %v", step, secret, !want)
			}
		}
	}
	expect("before", 12, true, false, false)
	expect("another laboratory", 13, false, false, true)
	table.list = append([]Subscriber{{LabID: 12, Origin: origin, Secret: "new"}}, table.list...)
	expect("both", 12, true, true, false)
	table.list = []Subscriber{{LabID: 12, Origin: origin, Secret: "new"}}
	expect("after", 12, false, true, false)
	elsewhere, _ := s.of(12, "https://elsewhere.example.com:443")
	another, _ := s.of(13, origin+":443")
	if elsewhere != nil || another != nil {
		t.Error("receivers without rows have no secrets of their own")
	}
}

// TestAnEd25519KeyIsRefused checks that a key of another type is not used as a shared secret.
func TestAnEd25519KeyIsRefused(t *testing.T) {
	t.Parallel()
	if _, err := NewSigner("whsk_" + base64.StdEncoding.EncodeToString(make([]byte, 32)) + "," + whsec("o")); err == nil {
		t.Error("accepted, want an error that names whsec_")
	}
}

func cache(t *testing.T) copies.Copies {
	return copies.Copies{Client: redistest.Start(t, "--appendfsync", "no").Client()}
}

func TestReceiversAreKnownWithoutTheDatabaseAndAMissingSecretMakesJobsWait(t *testing.T) {
	t.Parallel()
	const origin, other = "https://api.example.com", "https://other.example.com"
	table := &rows{list: []Subscriber{{Origin: origin, Secret: "here"}}}
	files := fstest.MapFS{"here": file(whsec("h"))}
	copied := cache(t)
	if err := NewSubscribers(table, provider.Directory{Root: files}, copied).RunOnce(t.Context()); err != nil {
		t.Fatal(err)
	}
	table.err = errors.New("away")
	restarted := NewSubscribers(table, provider.Directory{Root: files}, copied)
	if err := restarted.RunOnce(t.Context()); err == nil {
		t.Error("got no report, want one that the database is unavailable")
	}
	if !accepts(t, whsec("h"), signed(t, restarted, 12, origin)) {
		t.Error("the copy is not used")
	}
	table.err, table.list = nil, append(table.list, Subscriber{Origin: other, Secret: "missing"})
	delete(files, "here")
	if err := restarted.RunOnce(t.Context()); err == nil || !strings.Contains(err.Error(), "missing") {
		t.Errorf("%v", err)
	}
	if !accepts(t, whsec("h"), signed(t, restarted, 12, origin)) {
		t.Error("a receiver whose secret cannot be read lost its previous one")
	}
	if waits, _ := restarted.of(12, other+":443"); waits == nil || waits.Enabled() {
		t.Error("a receiver without a readable secret must wait")
	}
}
