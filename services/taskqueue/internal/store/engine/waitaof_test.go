package engine_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/labplatform/labplatform/pkg/clock"
	"github.com/labplatform/labplatform/pkg/testkit/redistest"
	"github.com/labplatform/labplatform/services/taskqueue/internal/job"
	"github.com/labplatform/labplatform/services/taskqueue/internal/store/engine"
)

// hasWaitAOF reports whether the server has the command.
func hasWaitAOF(t *testing.T, client *redis.Client) bool {
	t.Helper()
	err := client.Do(t.Context(), "WAITAOF", 0, 0, 1).Err()
	if err != nil && !strings.Contains(err.Error(), "unknown command") {
		t.Fatal(err)
	}
	return err == nil
}

// TestWaitAOFKeepsWhatWasAcceptedOrIsRefusedByAnOldServer checks that Redis 7.0 and 7.1 reject the settings with one
// error, and that from 7.2 on, accepted jobs survive kill -9 although the file is synced only once a second.
func TestWaitAOFKeepsWhatWasAcceptedOrIsRefusedByAnOldServer(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t, "--appendfsync", "everysec", "--lazyfree-lazy-expire", "yes")
	set := patientSettings()
	set.WaitAOF = true
	q := open(t, server.Addr, 0, set)
	var said []string
	gate := engine.NewGate(q, engine.Durable, func(list []string) { said = list })
	err := gate.Check(t.Context())
	if !hasWaitAOF(t, server.Client()) {
		const words = "has no WAITAOF: set TASKQUEUE_WAIT_AOF=false and appendfsync always, or install 7.2"
		if !errors.Is(err, engine.ErrClosed) || !only(said, words) {
			t.Errorf("%v, said %q", err, said)
		}
		return
	}
	if err != nil || len(said) > 0 {
		t.Fatalf("%v, said %q", err, said)
	}
	ids := job.NewGenerator(clock.System{})
	var accepted []job.ID
	for range 5 {
		id := ids.Next(0, job.Lane{Channel: job.SMS})
		batch := engine.Batch{IdempotencyKey: string(id), RequestHash: "h", KeepKey: time.Minute,
			Jobs: []engine.NewJob{{ID: id, Body: []byte("v1")}}}
		got, err := gate.Enqueue(t.Context(), batch)
		for errors.Is(err, engine.ErrUnconfirmed) { // the disk may be slower than the wait: submit it again
			got, err = gate.Enqueue(t.Context(), batch)
		}
		if err != nil {
			t.Fatal(err)
		}
		accepted = append(accepted, got.IDs...)
	}
	server.Restart() // uses kill -9
	list, err := open(t, server.Addr, 0, set).Info(t.Context(), accepted)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range list {
		if s.Place != engine.PlaceLane {
			t.Errorf("%s was accepted and is lost", s.ID)
		}
	}
}
