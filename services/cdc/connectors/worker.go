package connectors

import (
	_ "embed" // embeds the worker configuration
	"strconv"
)

//go:embed connect-distributed.properties
var workerTemplate string

// PasswordReference returns the reference to the line "password=…" of a file in the workers' SecretsFolder. A
// connector's configuration with it does not contain the password.
func PasswordReference(file string) string { return "${file:" + file + ":password}" }

// Worker holds the values of Kafka Connect's own configuration that differ between installations.
type Worker struct {
	Brokers          string // bootstrap servers, host:port, separated by commas
	Listener         string // address of the admin REST API, such as http://0.0.0.0:8083
	AdvertisedHost   string // host name for requests of other workers
	PluginPath       string // folder with the connectors' folders
	SecretsFolder    string // folder with the files that connectors may refer to
	Replication      int    // replication of the three internal topics
	OffsetPartitions int
	StatusPartitions int
	SessionTimeoutMS int // at least 6000, the usual minimum of brokers, and above the heartbeat interval of 3000
	RebalanceDelayMS int // 0 on one machine
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
