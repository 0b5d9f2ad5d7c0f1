package app

import "testing"

func TestTheShardsHaveEqualPartsOfWhatMayWaitForTheArchive(t *testing.T) {
	t.Parallel()
	cfg := Config{DatabaseEnabled: true}
	cfg.Queue.ArchiveLimit = 1600
	if got := cfg.engine().EndsLimit; got != 100 {
		t.Errorf("%d in a shard, want 100", got)
	}
}
