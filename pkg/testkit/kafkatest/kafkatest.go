// Package kafkatest returns the address of the broker at LAB_TEST_KAFKA_BROKERS, and names that no other test uses.
// Topics are not deleted, because the broker is discarded after the run.
package kafkatest

import (
	"crypto/rand"
	"encoding/hex"
	"strings"
	"testing"

	"github.com/labplatform/labplatform/pkg/testkit/engine"
)

// Env is the variable with the addresses of the brokers, host:port separated by commas.
const Env = "LAB_TEST_KAFKA_BROKERS"

// Brokers returns the addresses of the brokers. Topics must be created explicitly; the broker does not create them.
func Brokers(t testing.TB) []string {
	t.Helper()
	list := engine.Setting(Env)
	if list == "" {
		engine.Missing(t, "no Kafka: set "+Env+", or run the tests with `devstack engines -- go test …`")
	}
	return strings.Split(list, ",")
}

// Prefix returns a prefix for names of topics and groups that only this test uses, such as "labtest_4f….".
func Prefix(t testing.TB) string {
	t.Helper()
	b := make([]byte, 8)
	_, _ = rand.Read(b) // never fails since Go 1.24
	return "labtest_" + hex.EncodeToString(b) + "."
}
