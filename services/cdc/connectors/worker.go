package connectors

import (
	_ "embed" // embed the worker configuration
	"strconv"
)

//go:embed connect-distributed.properties
var workerTemplate string

// PasswordReference returns a reference to the line "password=…" of a file in the workers' SecretsFolder, so that a
// connector's configuration does not contain the password.
func PasswordReference(file string) string { return "${file:" + file + ":password}" }

// Worker holds the settings of a Kafka Connect worker that differ between installations.
type Worker struct {
	Brokers          string // bootstrap servers, host:port, separated by commas
	Listener         string // address of the admin REST API, such as http://0.0.0.0:8083
	AdvertisedHost   string // host name under which other workers reach this one
	PluginPath       string // folder that contains the connectors' folders
	SecretsFolder    string // folder of the files that connector configurations may reference
	Replication      int    // replication of the three internal topics
	OffsetPartitions int
	StatusPartitions int
	SessionTimeoutMS int // at least 6000, the usual minimum of brokers, and longer than the heartbeat interval of 3000
	RebalanceDelayMS int // 0 on a single machine
}

// Properties returns the content of connect-distributed.properties.
func (w Worker) Properties() (string, error) {
	return fill(workerTemplate, map[string]string{
		"brokers": w.Brokers, "listener": w.Listener, "advertised_host": w.AdvertisedHost, "plugin_path": w.PluginPath,
		"secrets_folder": w.SecretsFolder,
		"replication":    strconv.Itoa(w.Replication), "offset_partitions": strconv.Itoa(w.OffsetPartitions),
		"status_partitions": strconv.Itoa(w.StatusPartitions), "session_timeout_ms": strconv.Itoa(w.SessionTimeoutMS),
		"rebalance_delay_ms": strconv.Itoa(w.RebalanceDelayMS),
	})
}
