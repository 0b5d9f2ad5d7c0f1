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
