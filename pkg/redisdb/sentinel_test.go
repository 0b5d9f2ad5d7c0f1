package redisdb_test

import (
	"testing"

	"github.com/labplatform/labplatform/pkg/redisdb"
	"github.com/labplatform/labplatform/pkg/testkit/redistest"
)

func TestMasterIsFoundThroughSentinels(t *testing.T) {
	t.Parallel()
	master := redistest.Start(t)
	cfg := redisdb.Config{Host: "nowhere.invalid", Port: 1, ConnectionType: "cluster",
		Sentinels: []string{redistest.StartSentinel(t, master)}, SentinelMaster: redistest.MasterName}
	client, err := redisdb.Open(cfg, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = client.Close() }()
	if err := client.Set(t.Context(), "key", "value", 0).Err(); err != nil {
		t.Fatal(err)
	}
	if got := master.Client().Get(t.Context(), "key").Val(); got != "value" {
		t.Errorf("value on the master = %q, want \"value\"", got)
	}
}

func TestSentinelWithoutAPortIsRefused(t *testing.T) {
	t.Parallel()
	if err := (&redisdb.Config{ConnectionType: "standalone", Sentinels: []string{"sentinel"}}).Validate(); err == nil {
		t.Error("Validate = nil for a sentinel without a port, want an error")
	}
}
