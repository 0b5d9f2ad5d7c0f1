package connectors

import (
	_ "embed" // the worker configuration
	"strconv"
)

//go:embed connect-distributed.properties
var workerTemplate string

// PasswordReference stands in a connector's configuration for the line "password=…" of a file that only the workers
// read, in their SecretsFolder.
func PasswordReference(file string) string { return "${file:" + file + ":password}" }

// Worker are the values of Kafka Connect's own configuration that differ from place to place.
type Worker struct {
	Brokers          string // bootstrap servers, host:port with commas between
	Listener         string // of the admin REST, e.g. http://0.0.0.0:8083
	AdvertisedHost   string // under which other workers reach this one
	PluginPath       string // folder that holds the connector's folder
	SecretsFolder    string // holds the files to which connectors may refer
	Replication      int    // of the three internal topics
	OffsetPartitions int
	StatusPartitions int
	SessionTimeoutMS int // at least 6000 with the brokers' usual limit, and above the heartbeats' 3000
	RebalanceDelayMS int // 0 on one machine
}

// Properties returns the text of connect-distributed.properties.
func (w Worker) Properties() (string, error) {
	return fill(workerTemplate, map[string]string{
		"brokers": w.Brokers, "listener": w.Listener, "advertised_host": w.AdvertisedHost, "plugin_path": w.PluginPath,
		"secrets_folder": w.SecretsFolder,
		"replication":    strconv.Itoa(w.Replication), "offset_partitions": strconv.Itoa(w.OffsetPartitions),
		"status_partitions": strconv.Itoa(w.StatusPartitions), "session_timeout_ms": strconv.Itoa(w.SessionTimeoutMS),
		"rebalance_delay_ms": strconv.Itoa(w.RebalanceDelayMS),
	})
}
