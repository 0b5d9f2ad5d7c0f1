package redis_test

import (
	"strings"
	"testing"

	"github.com/labplatform/labplatform/pkg/testkit/redistest"
	"github.com/labplatform/labplatform/services/search/internal/store/redis"
)

func TestTheModeIsReadAsItWasSet(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	client := server.Client()
	modes := redis.NewModes(client)
	read := func(want string) {
		t.Helper()
		if got, err := modes.Mode(t.Context()); err != nil || got != want {
			t.Fatalf("%q, %v; want %q", got, err, want)
		}
	}
	read("")
	for _, text := range []string{"degraded", "", "nonsense"} {
		if err := client.Set(t.Context(), "search:rate_limit_mode", text, 0).Err(); err != nil {
			t.Fatal(err)
		}
		read(text)
	}
	if err := client.Set(t.Context(), redis.ModeKey, strings.Repeat("x", 1<<20), 0).Err(); err != nil {
		t.Fatal(err)
	}
	if got, err := modes.Mode(t.Context()); err != nil || len(got) > 64 {
		t.Fatalf("%d bytes are read, %v", len(got), err)
	}
	if err := client.Del(t.Context(), redis.ModeKey).Err(); err != nil {
		t.Fatal(err)
	}
	if err := client.LPush(t.Context(), redis.ModeKey, "emergency").Err(); err != nil {
		t.Fatal(err)
	}
	if _, err := modes.Mode(t.Context()); err == nil {
		t.Error("a list is read as a mode")
	}
	server.Kill()
	if _, err := modes.Mode(t.Context()); err == nil {
		t.Error("got a mode from a server that does not exist, want an error")
	}
}
