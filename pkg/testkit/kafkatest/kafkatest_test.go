package kafkatest_test

import (
	"net"
	"testing"
	"time"

	"github.com/labplatform/labplatform/pkg/testkit/kafkatest"
)

func TestBrokersAreReachable(t *testing.T) {
	t.Parallel()
	for _, broker := range kafkatest.Brokers(t) {
		connection, err := net.DialTimeout("tcp", broker, 10*time.Second)
		if err != nil {
			t.Fatal(err)
		}
		connection.Close()
	}
}

func TestEachTestHasItsOwnPrefix(t *testing.T) {
	t.Parallel()
	if first, second := kafkatest.Prefix(t), kafkatest.Prefix(t); first == second {
		t.Fatalf("prefixes of two tests are both %q, want different ones", first)
	}
}
