package app_test

import (
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/labplatform/labplatform/services/taskqueue/internal/store/engine"
)

// keys returns the keys with this name on all shards.
func keys(t testing.TB, client *redis.Client, name string) []string {
	t.Helper()
	list, err := client.Keys(t.Context(), "tq:{*}:"+name).Result()
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// paused stores a pause of a target, as an earlier process would have.
func paused(t testing.TB, client *redis.Client, target engine.Target) {
	t.Helper()
	q := engine.New(engine.Config{Client: client, Bells: client, Settings: engine.DefaultSettings()})
	if err := q.Pause(t.Context(), target, time.UnixMilli(1)); err != nil {
		t.Fatal(err)
	}
}
