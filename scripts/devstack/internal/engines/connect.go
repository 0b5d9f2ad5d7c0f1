package engines

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/labplatform/labplatform/scripts/devstack/internal/install"
	"github.com/labplatform/labplatform/scripts/devstack/internal/process"
	"github.com/labplatform/labplatform/services/cdc/connectors"
)

const connectHeapMiB = 384

// Connect returns a Kafka Connect worker with the Debezium connector. It stores its state in Kafka, so start it once
// brokers (host:port, separated by commas) are ready. Connectors refer to password by ConnectorPassword.
func Connect(place Place, brokers, password string, java install.Java) Engine {
	run := jvm{heapMiB: connectHeapMiB, flags: kafkaFlags(), classPath: kafkaClassPath(java),
		main: "org.apache.kafka.connect.cli.ConnectDistributed", args: []string{place.properties()}}
	return Engine{
		Spec:    process.Spec{Name: "connector", Command: run.command(java.Program), LogFile: place.Log},
		Prepare: func(context.Context) error { return writeWorker(place, brokers, password, java) },
		Ready:   func(ctx context.Context) error { return pingHTTP(ctx, "http://"+local(place.Port)+"/health") },
	}
}

// ConnectorsRun returns an error unless each named connector of the Kafka Connect worker at url runs, with all its
// tasks. It ignores connectors that an operator stopped or paused; held lists them.
func ConnectorsRun(ctx context.Context, url string, names []string) (held []string, err error) {
	type part struct{ State string }
	var all map[string]struct {
		Status struct {
			Connector part
			Tasks     []part
		}
	}
	if err := getJSON(ctx, url+"/connectors?expand=status", &all); err != nil {
		return nil, err
	}
	for _, name := range names {
		status := all[name].Status
		switch state := status.Connector.State; {
		case state == "STOPPED" || state == "PAUSED":
			held = append(held, name)
		case state != "RUNNING" || len(status.Tasks) == 0 || slices.ContainsFunc(status.Tasks, func(t part) bool { return t.State != "RUNNING" }):
			return nil, fmt.Errorf("%s is %q with tasks %v", name, state, status.Tasks)
		}
	}
	return held, nil
}

// ConnectorPassword returns the reference that a connector's configuration holds instead of the database password.
// Kafka Connect resolves it.
func ConnectorPassword(place Place) string { return connectors.PasswordReference(place.secret()) }

func (p Place) secret() string { return filepath.Join(p.Data+"-secrets", "database.properties") }

func writeWorker(place Place, brokers, password string, java install.Java) error {
	text, err := connectors.Worker{
		Brokers:          brokers,
		Listener:         "http://" + local(place.Port),
		AdvertisedHost:   "127.0.0.1",
		PluginPath:       filepath.Join(java.Kafka, "plugins"),
		SecretsFolder:    filepath.Dir(place.secret()),
		Replication:      1 + strings.Count(brokers, ","),
		OffsetPartitions: 1,
		StatusPartitions: 1,
		SessionTimeoutMS: 6000,
	}.Properties()
	if err != nil {
		return fmt.Errorf("worker configuration: %w", err)
	}
	if err := os.MkdirAll(filepath.Dir(place.secret()), 0o700); err != nil {
		return err
	}
	if err := os.WriteFile(place.secret(), []byte("password="+password+"\n"), 0o600); err != nil {
		return err
	}
	return os.WriteFile(place.properties(), []byte(text), 0o644)
}
