package idempotency_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/labplatform/labplatform/pkg/apperr"
	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/pkg/idempotency"
	"github.com/labplatform/labplatform/pkg/testkit/await"
	"github.com/labplatform/labplatform/pkg/testkit/redistest"
)

const lease = time.Minute

// told counts the executions of its method work, which returns their number.
type told struct{ times atomic.Int32 }

func (w *told) work() ([]byte, error) { return []byte{byte(w.times.Add(1))}, nil }

func by(kind authn.ActorKind, id int64, key, body string) idempotency.Request {
	return idempotency.Request{Actor: authn.Actor{Kind: kind, ID: id}, Key: key, Operation: "/lab.rerun.v1.RerunService/RequestRerun", Body: []byte(body)}
}

func TestAResponseInTheCacheIsOfOneLoginAndOneRequest(t *testing.T) {
	t.Parallel()
	responses := idempotency.NewResponses(redistest.Start(t).Client(), "rerun")
	var w told
	asha := by(authn.ActorLabUser, 77, "k", "body")
	for _, c := range []struct {
		name     string
		lab      int64
		request  idempotency.Request
		want     byte
		replayed bool
		err      error
	}{
		{"first", 12, asha, 1, false, nil},
		{"again", 12, asha, 1, true, nil},
		{"another body", 12, by(authn.ActorLabUser, 77, "k", "other"), 0, false, idempotency.ErrKeyReused},
		{"a doctor with the same number", 12, by(authn.ActorDoctor, 77, "k", "body"), 2, false, nil},
		{"another lab user", 12, by(authn.ActorLabUser, 78, "k", "body"), 3, false, nil},
		{"another laboratory", 13, asha, 4, false, nil},
		{"another key", 12, by(authn.ActorLabUser, 77, "K", "body"), 5, false, nil},
		{"no key", 12, by(authn.ActorLabUser, 77, "", "body"), 0, false, idempotency.ErrKeyInvalid},
		{"an invalid key", 12, by(authn.ActorLabUser, 77, "a b", "body"), 0, false, idempotency.ErrKeyInvalid},
	} {
		got, replayed, err := responses.Once(t.Context(), c.lab, c.request, lease, w.work)
		if !errors.Is(err, c.err) || replayed != c.replayed || err == nil && (len(got) != 1 || got[0] != c.want) {
			t.Errorf("%s: %v, replayed %t, %v; want %d, %t, %v", c.name, got, replayed, err, c.want, c.replayed, c.err)
		}
	}
}

func TestOfSixteenCallersWithOneKeyOneExecutesAndAllHearItsResponse(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	var w told
	var group sync.WaitGroup
	for range 16 {
		group.Go(func() {
			responses := idempotency.NewResponses(server.Client(), "rerun")
			got, _, err := responses.Once(t.Context(), 12, by(authn.ActorLabUser, 77, "k", "body"), lease, w.work)
			if err != nil || len(got) != 1 || got[0] != 1 {
				t.Errorf("%v, %v; want the first response", got, err)
			}
		})
	}
	group.Wait()
}

func TestWhatFailedIsExecutedAgain(t *testing.T) {
	t.Parallel()
	responses := idempotency.NewResponses(redistest.Start(t).Client(), "rerun")
	refused := errors.New("refused")
	request := by(authn.ActorLabUser, 77, "k", "body")
	var w told
	for name, work := range map[string]func() ([]byte, error){
		"an error":                   func() ([]byte, error) { return nil, refused },
		"a response that is not for": func() ([]byte, error) { return nil, nil },
	} {
		if _, replayed, err := responses.Once(t.Context(), 12, request, lease, work); replayed || err != nil && !errors.Is(err, refused) {
			t.Errorf("%s: replayed %t, %v", name, replayed, err)
		}
	}
	func() {
		defer func() { _ = recover() }()
		_, _, _ = responses.Once(t.Context(), 12, request, lease, func() ([]byte, error) { panic("a fault") })
	}()
	if _, replayed, err := responses.Once(t.Context(), 12, by(authn.ActorLabUser, 77, "k", "corrected"), lease, w.work); replayed || err != nil {
		t.Errorf("a corrected request: replayed %t, %v; want it executed", replayed, err)
	}
}

func TestARequestDoesNotRunBesideItself(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	responses := idempotency.NewResponses(server.Client(), "rerun")
	request := by(authn.ActorLabUser, 77, "k", "body")
	var w told
	_, _, err := responses.Once(t.Context(), 12, request, lease, func() ([]byte, error) {
		hurried, cancel := context.WithTimeout(t.Context(), 120*time.Millisecond)
		defer cancel()
		if _, _, err := responses.Once(hurried, 12, request, lease, w.work); !errors.Is(err, idempotency.ErrRunning) {
			t.Errorf("beside the first: %v, want ErrRunning", err)
		}
		if _, _, err := responses.Once(t.Context(), 12, by(authn.ActorLabUser, 77, "k", "other"), lease, w.work); !errors.Is(err, idempotency.ErrKeyReused) {
			t.Errorf("another request beside the first: %v, want ErrKeyReused", err)
		}
		return []byte{9}, nil
	})
	if err != nil || w.times.Load() != 0 {
		t.Errorf("executed %d times beside the first, %v", w.times.Load(), err)
	}
}

// A process dies while it executes the request. Its entry must expire, and its late write must not replace the entry of
// the next execution.
func TestAnExecutionThatDiedIsFollowedByAnother(t *testing.T) {
	t.Parallel()
	client := redistest.Start(t).Client()
	responses := idempotency.NewResponses(client, "rerun")
	request := by(authn.ActorLabUser, 77, "k", "body")
	var w told
	late, _, err := responses.Once(t.Context(), 12, request, time.Millisecond, func() ([]byte, error) {
		await.True(t, "the end of the lease", func() bool { return len(client.Keys(t.Context(), "*:12:*").Val()) == 1 })
		if _, replayed, err := responses.Once(t.Context(), 12, request, lease, w.work); replayed || err != nil {
			t.Errorf("the next execution: replayed %t, %v", replayed, err)
		}
		return []byte{9}, nil
	})
	if err != nil || late[0] != 9 {
		t.Errorf("the late execution: %v, %v; want its own response", late, err)
	}
	if got, replayed, err := responses.Once(t.Context(), 12, request, lease, w.work); err != nil || !replayed || got[0] != 1 {
		t.Errorf("afterwards: %v, replayed %t, %v; want the response of the second execution", got, replayed, err)
	}
}

func TestWithoutTheCacheNothingIsExecuted(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	responses := idempotency.NewResponses(server.Client(), "rerun")
	server.Kill()
	var w told
	_, _, err := responses.Once(t.Context(), 12, by(authn.ActorLabUser, 77, "k", "body"), lease, w.work)
	if !apperr.Is(err, apperr.Unavailable) || w.times.Load() != 0 {
		t.Errorf("%v, executed %d times; want Unavailable and nothing executed", err, w.times.Load())
	}
}

// The cache also stores the sessions, so a client in a loop must not fill it.
func TestALoginCannotFillTheCache(t *testing.T) {
	t.Parallel()
	client := redistest.Start(t).Client()
	responses := idempotency.NewResponses(client, "rerun")
	large := func() ([]byte, error) { return make([]byte, 65<<10), nil }
	for range 2 {
		if _, replayed, err := responses.Once(t.Context(), 12, by(authn.ActorLabUser, 77, "large", ""), lease, large); replayed || err != nil {
			t.Errorf("a large response: replayed %t, %v; want it executed again", replayed, err)
		}
	}
	used := client.Keys(t.Context(), "*:used:*").Val()
	if len(used) != 1 || client.TTL(t.Context(), used[0]).Val() <= 0 {
		t.Fatalf("counters %v, want one that ends", used)
	}
	if err := client.Set(t.Context(), used[0], 20_000, redis.KeepTTL).Err(); err != nil {
		t.Fatal(err)
	}
	var w told
	for _, c := range []struct {
		request idempotency.Request
		refused bool
	}{
		{by(authn.ActorLabUser, 77, "more", ""), true},
		{by(authn.ActorLabUser, 78, "more", ""), false},
		{by(authn.ActorPlatform, -1, "more", ""), false},
	} {
		_, _, err := responses.Once(t.Context(), 12, c.request, lease, w.work)
		if apperr.Is(err, apperr.TooManyRequests) != c.refused {
			t.Errorf("%s %d: %v, want a refusal: %t", c.request.Actor.Kind, c.request.Actor.ID, err, c.refused)
		}
	}
	if n := w.times.Load(); n != 2 {
		t.Errorf("%d requests were executed, want 2", n)
	}
}

// All commands must succeed for a Redis user with exactly the permissions that docs/security.md lists.
func TestTheDocumentedRightsAreEnough(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", "security.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(text), "`~idempotency:<service>:* ")
	commands, _, found := strings.Cut(rest, "`")
	if !found {
		t.Fatal("docs/security.md does not list the rights")
	}
	server := redistest.Start(t)
	rule := []any{"ACL", "SETUSER", "rerun", "on", ">password", "resetchannels", "-@all", "~idempotency:rerun:*"}
	for _, command := range strings.Fields(commands) {
		rule = append(rule, command)
	}
	if err := server.Client().Do(t.Context(), rule...).Err(); err != nil {
		t.Fatal(err)
	}
	options := *server.Client().Options()
	options.Username, options.Password, options.DisableIdentity = "rerun", "password", true
	client := redis.NewClient(&options)
	defer client.Close()
	responses := idempotency.NewResponses(client, "rerun")
	var w told
	for i := range 2 {
		if _, replayed, err := responses.Once(t.Context(), 12, by(authn.ActorLabUser, 77, "k", "body"), lease, w.work); err != nil || replayed != (i == 1) {
			t.Errorf("request %d: replayed %t, %v", i+1, replayed, err)
		}
	}
}
