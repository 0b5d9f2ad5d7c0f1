package app

import "testing"

func TestTheNumberOfShardsFitsTheConnectionUnlessItIsSet(t *testing.T) {
	t.Parallel()
	for connection, want := range map[string]int{"standalone": 1, "cluster": 16} {
		cfg := Config{}
		cfg.Redis.ConnectionType = connection
		if got := cfg.engine().Shards; got != want {
			t.Errorf("%s: %d shards, want %d", connection, got, want)
		}
		cfg.Queue.Shards = 4
		if got := cfg.engine().Shards; got != 4 {
			t.Errorf("%s: %d shards, want the 4 of the setting", connection, got)
		}
	}
}

func TestTheShardsHaveEqualPartsOfWhatMayWaitForTheArchive(t *testing.T) {
	t.Parallel()
	for connection, want := range map[string]int{"standalone": 1600, "cluster": 100} {
		cfg := Config{DatabaseEnabled: true}
		cfg.Redis.ConnectionType, cfg.Queue.ArchiveLimit = connection, 1600
		if got := cfg.engine().EndsLimit; got != want {
			t.Errorf("%s: %d in a shard, want %d", connection, got, want)
		}
	}
}
