package broker

import (
	"testing"
	"time"

	"github.com/labplatform/labplatform/pkg/config"
)

// TestASilentCoordinatorIsLeftWithinASession checks that the retries of a heartbeat take less time than a session.
// Sarama sends each retry to the known coordinator and waits for the timeout; meanwhile the member does not learn that
// it has lost a partition.
func TestASilentCoordinatorIsLeftWithinASession(t *testing.T) {
	t.Parallel()
	var cfg Config
	if err := config.Load("CDC_", &cfg, nil); err != nil {
		t.Fatal(err)
	}
	s, err := cfg.consumer("pod")
	if err != nil {
		t.Fatal(err)
	}
	if cfg.SessionTimeout > 10*time.Second {
		t.Errorf("after a crash no one is found again for %v, until the previous session ends", cfg.SessionTimeout)
	}
	if lost := time.Duration(1+s.Metadata.Retry.Max) * s.Net.ReadTimeout; lost > cfg.SessionTimeout {
		t.Errorf("a silent coordinator is left after %v, a silent member after %v", lost, cfg.SessionTimeout)
	}
}
