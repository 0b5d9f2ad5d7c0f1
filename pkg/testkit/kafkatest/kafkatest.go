// Package kafkatest tells a test where the broker of LAB_TEST_KAFKA_BROKERS is, and gives it names that no other
// test uses. Topics are left to the broker, which the run throws away.
package kafkatest

import (
	"crypto/rand"
	"encoding/hex"
	"strings"
	"testing"

	"github.com/labplatform/labplatform/pkg/testkit/engine"
)

// Env names the variable with the addresses of the brokers, host:port with commas between.
const Env = "LAB_TEST_KAFKA_BROKERS"

// Brokers returns the addresses of the brokers. Topics have to be made by name: a broker makes none by itself.
func Brokers(t testing.TB) []string {
	t.Helper()
	list := engine.Setting(Env)
	if list == "" {
		engine.Missing(t, "no Kafka: set "+Env+", or run the tests under `devstack engines -- go test …`")
	}
	return strings.Split(list, ",")
}

// Prefix returns the start of names of topics and groups that belong to this test alone, e.g. "labtest_4f….".
func Prefix(t testing.TB) string {
	t.Helper()
	b := make([]byte, 8)
	_, _ = rand.Read(b) // never fails since Go 1.24
	return "labtest_" + hex.EncodeToString(b) + "."
}
