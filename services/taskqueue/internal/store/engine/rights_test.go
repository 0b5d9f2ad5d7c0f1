package engine_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/labplatform/labplatform/pkg/testkit/documents"
	"github.com/labplatform/labplatform/pkg/testkit/redistest"
	"github.com/labplatform/labplatform/services/taskqueue/internal/store/engine"
)

// setUser returns the documented ACL statement.
func setUser(password string) []string {
	rights := append([]string{"ACL", "SETUSER", "queue", "on", ">" + password, "~" + engine.Keys, "resetchannels", "-@all"}, engine.Rights()...)
	return rights
}

// restricted starts a Redis whose user queue has the documented rights with the given changes.
func restricted(t *testing.T, change ...string) *redistest.Server {
	t.Helper()
	server := redistest.Start(t, "--databases", "64", "--lazyfree-lazy-expire", "yes")
	words := make([]any, 0, 80)
	for _, word := range append(setUser("secret"), change...) {
		words = append(words, word)
	}
	if err := server.Client().Do(t.Context(), words...).Err(); err != nil {
		t.Fatal(err)
	}
	return server
}

// asQueue returns an engine that connects as the user queue.
func asQueue(t *testing.T, server *redistest.Server, db int, set engine.Settings) *engine.Redis {
	t.Helper()
	client := redis.NewClient(&redis.Options{Addr: server.Addr, DB: db, MaxRetries: -1, Username: "queue", Password: "secret", DisableIdentity: true})
	t.Cleanup(func() { _ = client.Close() })
	q := engine.New(engine.Config{Client: client, Bells: client, Settings: set, User: "queue"})
	return q
}

func TestAUserWithExactlyTheDocumentedRightsRunsTheWholeEngine(t *testing.T) {
	t.Parallel()
	server := restricted(t, "+select") // each part of the suite uses another database
	databases := make(chan int, 64)
	for db := range 64 {
		databases <- db
	}
	runSuite(t, func(t *testing.T) harness {
		return harness{Queue: asQueue(t, server, <-databases, suiteSettings()), Advance: wait(t)}
	})
}

func TestAMissingRightIsNamedWithTheStatementThatMendsIt(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change []string
		want   []string
	}{
		"nothing":             {},
		"one command":         {[]string{"-blpop"}, []string{"may not run blpop: ACL SETUSER queue +blpop"}},
		"commands of scripts": {[]string{"-zadd", "-hset"}, []string{"hset, zadd: ACL SETUSER queue +hset +zadd"}},
		"loading scripts":     {[]string{"-script|load"}, []string{"ACL SETUSER queue +script|load"}},
		"asking":              {[]string{"-eval"}, []string{"may not run eval: ACL SETUSER queue +eval"}},
		"transactions":        {[]string{"-multi", "-exec"}, []string{"ACL SETUSER queue +multi +exec"}},
		"the keys":            {[]string{"resetkeys", "~other:*"}, []string{"ACL SETUSER queue ~tq:*"}},
		"the state":           {[]string{"-info"}, []string{"ACL SETUSER queue +info"}},
		"the settings":        {[]string{"-config"}, []string{"+config|get"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			q := asQueue(t, restricted(t, c.change...), 0, patientSettings())
			var said []string
			gate := engine.NewGate(q, engine.Durable, func(list []string) { said = list })
			if err := gate.Check(t.Context()); errors.Is(err, engine.ErrClosed) != (len(c.want) > 0) {
				t.Errorf("the gate: %v", err)
			}
			if len(said) != len(c.want) {
				t.Fatalf("said %q, want %q", said, c.want)
			}
			for i := range said {
				if !strings.Contains(said[i], c.want[i]) {
					t.Errorf("said %q, want %q", said[i], c.want[i])
				}
			}
		})
	}
}

func TestWhatRedisDoesNotShowIsTakenOnSomebodysWord(t *testing.T) {
	t.Parallel()
	for profile, open := range map[engine.Profile]bool{engine.Durable: false, engine.Attested: true} {
		var said []string
		gate := engine.NewGate(asQueue(t, restricted(t, "-config"), 0, patientSettings()), profile, func(list []string) { said = list })
		if err := gate.Check(t.Context()); (err == nil) != open || len(said) != 1 || !strings.Contains(said[0], "appendfsync cannot be checked") {
			t.Errorf("%s: %v, said %q", profile, err, said)
		}
	}
}

func TestTheDocumentedStatementIsTheOneThatTheTestsUse(t *testing.T) {
	t.Parallel()
	text := documents.Read(t, "taskqueue-operating.md")
	if want := strings.Join(setUser("PASSWORD"), " "); !strings.Contains(strings.ReplaceAll(text, " \\\n  ", " "), want) {
		t.Errorf("docs/design/taskqueue-operating.md does not have:\n%s", want)
	}
}
