package redistest_test

import (
	"testing"

	"github.com/labplatform/labplatform/pkg/testkit/redistest"
)

func TestWritesSurviveAKillAndARestart(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	client := server.Client()
	if err := client.Set(t.Context(), "k", "v", 0).Err(); err != nil {
		t.Fatal(err)
	}
	server.Kill()
	if err := client.Get(t.Context(), "k").Err(); err == nil {
		t.Fatal("GET from a killed server = nil, want an error")
	}
	server.Restart()
	if got, err := client.Get(t.Context(), "k").Result(); err != nil || got != "v" {
		t.Fatalf("value after the restart = %q, error %v, want \"v\"", got, err)
	}
}

func TestExtraArgumentsOverrideDefaults(t *testing.T) {
	t.Parallel()
	client := redistest.Start(t, "--appendfsync", "everysec").Client()
	config, err := client.ConfigGet(t.Context(), "append*").Result()
	if err != nil {
		t.Fatal(err)
	}
	if config["appendfsync"] != "everysec" || config["appendonly"] != "yes" {
		t.Fatalf("config = %v, want appendfsync everysec and appendonly yes", config)
	}
}
