package stack

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/labplatform/labplatform/scripts/devstack/internal/engines"
	"github.com/labplatform/labplatform/scripts/devstack/internal/install"
	"github.com/labplatform/labplatform/scripts/devstack/internal/ports"
	"github.com/labplatform/labplatform/scripts/devstack/internal/roster"
	"github.com/labplatform/labplatform/services/cdc/connectors"
)

// describePipeline sets the addresses of Kafka, Kafka Connect and Elasticsearch.
func (r *running) describePipeline() {
	if !r.Settings.Pipeline {
		return
	}
	r.stack.KafkaBrokers = or(r.Settings.KafkaBrokers, or(r.Settings.KafkaAdvertised, r.Settings.Ports.Addr(ports.Kafka)))
	r.stack.ConnectURL = or(r.Settings.ConnectURL, r.stack.URL(ports.Connector))
	r.stack.ConnectorPassword = engines.ConnectorPassword(r.place("connector", ports.Connector))
	if r.Settings.ConnectURL != "" { // external workers cannot read a file with the password
		r.stack.ConnectorPassword = r.stack.Secrets.Connector
	}
	r.stack.Elasticsearch = or(r.Settings.ESURL, r.stack.URL(ports.Elasticsearch))
}

// ownPipeline returns the engines of change capture and search that the stack starts itself. Connect starts after
// Kafka, where it keeps its state.
func (r *running) ownPipeline() []engines.Engine {
	own := install.WantedBy(r.Settings)
	var wanted []engines.Engine
	connect := engines.Connect(r.place("connector", ports.Connector), r.stack.KafkaBrokers, r.stack.Secrets.Connector, r.java)
	broker := engines.KafkaBroker{
		Controllers: []string{r.Settings.Ports.Addr(ports.KafkaController)},
		Advertised:  r.Settings.KafkaAdvertised,
	}
	switch kafka := engines.Kafka(r.place("kafka", ports.Kafka), broker, r.java); {
	case own.Kafka && own.Connect:
		kafka.Then = &connect
		wanted = append(wanted, kafka)
	case own.Kafka:
		wanted = append(wanted, kafka)
	case own.Connect:
		wanted = append(wanted, connect)
	}
	if own.Elasticsearch {
		wanted = append(wanted, engines.Elasticsearch(r.place("elasticsearch", ports.Elasticsearch),
			engines.SearchNode{Transports: []string{r.Settings.Ports.Addr(ports.ElasticsearchTransport)}}, r.java))
	}
	return wanted
}

func (r *running) pipelineListeners() []ports.Name {
	var all []ports.Name
	wanted := install.WantedBy(r.Settings)
	if wanted.Kafka {
		all = append(all, ports.Kafka, ports.KafkaController)
	}
	if wanted.Connect {
		all = append(all, ports.Connector)
	}
	if wanted.Elasticsearch {
		all = append(all, ports.Elasticsearch, ports.ElasticsearchTransport)
	}
	return all
}

// captures reports whether this stack starts a service that reads the changes of the database.
func (r *running) captures() bool {
	return slices.ContainsFunc(r.Services, func(s roster.Service) bool { return s.Pipeline })
}

// awaitConnectors waits until every connector runs. A connector that an operator stopped or paused stays so, also
// across restarts of the stack, and is only reported.
func (r *running) awaitConnectors(ctx context.Context) error {
	if !r.captures() || slices.Contains(r.Caller, "CDC_CONNECTORS_APPLY=never") {
		return nil
	}
	ctx, cancel := context.WithTimeoutCause(ctx, readyTimeout, errors.New("waited "+readyTimeout.String()))
	defer cancel()
	ticker := time.NewTicker(100 * time.Millisecond)
	defer ticker.Stop()
	worker, _, _ := strings.Cut(r.stack.ConnectURL, ",")
	for {
		held, err := engines.ConnectorsRun(ctx, worker, connectors.Names())
		if err == nil {
			for _, name := range held {
				fmt.Fprintf(r.Out, "%s was stopped by someone and stays so: nothing that it captures reaches the index\n", name)
			}
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf(
				"the connectors do not run: %w (%w); see %s and %s",
				err,
				context.Cause(ctx),
				r.Settings.Log("cdc"),
				r.Settings.Log("connector"),
			)
		case <-ticker.C:
		}
	}
}

// admitConnectors creates the database user of the connectors with Debezium's grants: to read, to lock the tables
// briefly when a snapshot begins, and to read the binary log. It can write only the two tables of the connectors.
func (r *running) admitConnectors(ctx context.Context) error {
	given := slices.ContainsFunc(
		r.Caller,
		func(pair string) bool { return strings.HasPrefix(pair, "CDC_CONNECTOR_DB_USER=") },
	)
	if !r.captures() || given {
		return nil
	}
	config, err := mysql.ParseDSN(r.target)
	if err != nil {
		return fmt.Errorf("connectors' user: %w", err)
	}
	statements := connectorGrants(r.stack.MySQL.Database)
	return execute(ctx, config, func(db *sql.DB) error {
		for _, statement := range statements {
			if _, err := db.ExecContext(
				ctx,
				strings.ReplaceAll(statement, "<password>", r.stack.Secrets.Connector),
			); err != nil {
				return fmt.Errorf(
					"the connectors' database user cannot be made: %w. Name one by CDC_CONNECTOR_DB_USER and CDC_CONNECTOR_DB_PASSWORD "+
						"for which an administrator ran\n  %s",
					err,
					strings.Join(statements, ";\n  "),
				)
			}
		}
		return nil
	})
}

func connectorGrants(database string) []string {
	user := "'" + roster.ConnectorUser + "'@'%'"
	return []string{
		"CREATE USER IF NOT EXISTS " + user,
		"ALTER USER " + user + " IDENTIFIED BY '<password>'",
		"GRANT RELOAD, SHOW DATABASES, REPLICATION SLAVE, REPLICATION CLIENT ON *.* TO " + user,
		"GRANT SELECT, LOCK TABLES ON `" + database + "`.* TO " + user,
		"GRANT INSERT, UPDATE, DELETE ON `" + database + "`.`cdc_signal` TO " + user,
		"GRANT INSERT, UPDATE ON `" + database + "`.`cdc_heartbeat` TO " + user,
	}
}
