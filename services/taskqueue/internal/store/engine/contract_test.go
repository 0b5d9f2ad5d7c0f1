package engine_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/labplatform/labplatform/pkg/testkit/redistest"
	"github.com/labplatform/labplatform/services/taskqueue/internal/store/engine"
)

func TestEveryWeakSettingIsNamedWithWhatMendsIt(t *testing.T) {
	t.Parallel()
	set := patientSettings()
	good := []string{"--lazyfree-lazy-expire", "yes"}
	for name, c := range map[string]struct {
		args         []string
		set          func(*engine.Settings)
		broken, weak string // texts in the expected finding; empty: no finding
	}{
		"all as it should be":         {args: good},
		"no append-only file":         {args: append(good, "--appendonly", "no"), broken: "CONFIG SET appendonly yes"},
		"a lazy fsync":                {args: append(good, "--appendfsync", "everysec"), broken: "CONFIG SET appendfsync always"},
		"no fsync during a rewrite":   {args: append(good, "--no-appendfsync-on-rewrite", "yes"), broken: "CONFIG SET no-appendfsync-on-rewrite no"},
		"eviction":                    {args: append(good, "--maxmemory-policy", "allkeys-lru"), broken: "CONFIG SET maxmemory-policy noeviction"},
		"results expire all at once":  {args: []string{"--lazyfree-lazy-expire", "no"}, weak: "CONFIG SET lazyfree-lazy-expire yes"},
		"fewer replicas than awaited": {args: good, set: func(s *engine.Settings) { s.WaitReplicas = 1 }, weak: "until there are enough"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			chosen := set
			if c.set != nil {
				c.set(&chosen)
			}
			q := open(t, redistest.Start(t, c.args...).Addr, 0, chosen)
			got, err := q.CheckContract(t.Context())
			if err != nil || !only(got.Broken, c.broken) || !only(got.Weak, c.weak) {
				t.Errorf("broken %q, weak %q, %v", got.Broken, got.Weak, err)
			}
			var said []string
			gate := engine.NewGate(q, engine.Durable, func(list []string) { said = list })
			if err := gate.Check(t.Context()); errors.Is(err, engine.ErrClosed) != (c.broken != "") {
				t.Errorf("the gate: %v", err)
			}
			if len(said) != len(got.Broken)+len(got.Weak) {
				t.Errorf("said %q", said)
			}
		})
	}
}

func patientSettings() engine.Settings {
	s := engine.DefaultSettings()
	s.CallTimeout = 10 * time.Second
	return s
}

// only reports whether the list is empty or, if words are given, has exactly one finding that contains them.
func only(list []string, words string) bool {
	if words == "" {
		return len(list) == 0
	}
	return len(list) == 1 && strings.Contains(list[0], words)
}

func TestMemoryIsAPartOfWhatRedisMayUse(t *testing.T) {
	t.Parallel()
	for limit, want := range map[string]bool{"0": false, "64mb": true} {
		client := redistest.Start(t, "--maxmemory", limit).Client()
		q := engine.New(engine.Config{Client: client, Bells: client, Settings: engine.DefaultSettings()})
		if part, err := q.Memory(t.Context()); err != nil || part > 1 || (part > 0) != want {
			t.Errorf("of %s: %v, error %v", limit, part, err)
		}
	}
}
