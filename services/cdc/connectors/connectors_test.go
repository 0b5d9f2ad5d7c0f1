package connectors_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/labplatform/labplatform/services/cdc/connectors"
)

func source() connectors.Source {
	return connectors.Source{MariaDB: true, DatabaseHost: "db.internal", DatabasePort: "3306", DatabaseUser: "cdc_connector", DatabasePassword: `p"a\ss${x}`,
		Database: "labdb", TopicPrefix: "lab", Brokers: "k1:9092,k2:9092", Replication: 3, MinInSync: 2, HeartbeatMS: 2000}
}

func configurations(t *testing.T) (existing, projection map[string]string) {
	t.Helper()
	all, err := source().Configurations()
	if err != nil {
		t.Fatal(err)
	}
	if len(all) != 2 {
		t.Fatalf("%d configurations, want 2", len(all))
	}
	return all[connectors.Existing], all[connectors.Projection]
}

func TestEveryPlaceholderIsFilledIn(t *testing.T) {
	t.Parallel()
	existing, projection := configurations(t)
	for _, configuration := range []map[string]string{existing, projection} {
		if got := configuration["database.password"]; got != source().DatabasePassword {
			t.Errorf("password is %q, want it as it was given", got)
		}
		for key, value := range configuration {
			if key != "database.password" && strings.Contains(value, "${") {
				t.Errorf("%s = %s", key, value)
			}
		}
		if _, err := json.Marshal(configuration); err != nil {
			t.Error(err)
		}
	}
}

func TestTheConnectorsDifferWhereTheyMust(t *testing.T) {
	t.Parallel()
	existing, projection := configurations(t)
	want := []string{
		"custom.metric.tags",                     // duplicate names prevent a task from starting
		"database.server.id",                     // of two connections with the same id, the server closes the older one
		"event.converting.failure.handling.mode", // user_meta images are indexed unchanged; other rows are read again
		"heartbeat.action.query",                 // each connector updates its own row
		"schema.history.internal.kafka.topic",    // a shared topic would mix the order of both connectors' records
		"table.include.list",
		"transforms.carrier.value.literal", // names the connector that captured a heartbeat
	}
	var got []string
	for key, value := range projection {
		if existing[key] != value {
			got = append(got, key)
		}
	}
	for key := range existing {
		if _, both := projection[key]; !both {
			got = append(got, key)
		}
	}
	slices.Sort(got)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatal(diff)
	}
}

func TestTheSettingsThatTheConsumerReliesOn(t *testing.T) {
	t.Parallel()
	existing, projection := configurations(t)
	for key, want := range map[string]string{
		"topic.prefix": "lab", "database.include.list": "labdb", "signal.data.collection": "labdb.cdc_signal", "snapshot.mode": "no_data", "incremental.snapshot.watermarking.strategy": "insert_delete",
		"poll.interval.ms": "100", "connect.keep.alive.interval.ms": "2000", "time.precision.mode": "isostring",
		"decimal.handling.mode": "string", "bigint.unsigned.handling.mode": "long", "tombstones.on.delete": "true",
		"extended.headers.enabled": "false", "skipped.operations": "none", "incremental.snapshot.chunk.size": "1024",
		"topic.creation.default.partitions": "6", "topic.creation.default.replication.factor": "3",
		"topic.creation.default.min.insync.replicas": "2", "heartbeat.interval.ms": "2000",
		"schema.history.internal.producer.request.timeout.ms": "10000", "schema.history.internal.consumer.request.timeout.ms": "10000",
		"predicates.beat.pattern": `.*\.cdc_heartbeat`, "transforms.carrier.header": connectors.CarrierHeader,
	} {
		if existing[key] != want || projection[key] != want {
			t.Errorf("%s = %q and %q, want %q", key, existing[key], projection[key], want)
		}
	}
	if got, want := existing["table.include.list"], "labdb.userDetails,labdb.billing,labdb.labReportRelation,labdb.cdc_heartbeat"; got != want {
		t.Errorf("%s captures %s", connectors.Existing, got)
	}
	if got, want := projection["table.include.list"], "labdb.user_meta,labdb.cdc_heartbeat"; got != want {
		t.Errorf("%s captures %s", connectors.Projection, got)
	}
	for name, configuration := range map[string]map[string]string{connectors.Existing: existing, connectors.Projection: projection} {
		if got, want := configuration["schema.history.internal.kafka.topic"], "lab.schema-history."+name; got != want {
			t.Errorf("history is in %s, want %s", got, want)
		}
	}
}

func TestTheHistorysClientsGetTheBrokersSecurity(t *testing.T) {
	t.Parallel()
	tests := []struct {
		security connectors.Security
		protocol string
		jaas     string
	}{
		{connectors.Security{}, "", ""},
		{connectors.Security{TLS: true}, "SSL", ""},
		{connectors.Security{TLS: true, User: "cdc", Password: `p"a\ss`, Mechanism: "PLAIN"}, "SASL_SSL",
			`org.apache.kafka.common.security.plain.PlainLoginModule required username="cdc" password="p\"a\\ss";`},
		{connectors.Security{TLS: true, User: "cdc", Password: "p", Mechanism: "SCRAM-SHA-512"}, "SASL_SSL",
			`org.apache.kafka.common.security.scram.ScramLoginModule required username="cdc" password="p";`},
	}
	for _, test := range tests {
		s := source()
		s.Security = test.security
		all, err := s.Configurations()
		if err != nil {
			t.Fatal(err)
		}
		for _, client := range []string{"producer", "consumer"} {
			prefix := "schema.history.internal." + client + "."
			for _, name := range connectors.Names() {
				protocol, jaas := all[name][prefix+"security.protocol"], all[name][prefix+"sasl.jaas.config"]
				if protocol != test.protocol || jaas != test.jaas {
					t.Errorf("%s of %s: %q and %q, want %q and %q", client, name, protocol, jaas, test.protocol, test.jaas)
				}
			}
		}
	}
}

func TestEachServerHasItsConnectorThatVerifiesWhenTheServiceDoes(t *testing.T) {
	t.Parallel()
	const mariaDB, mySQL = "io.debezium.connector.mariadb.MariaDbConnector", "io.debezium.connector.mysql.MySqlConnector"
	for _, c := range []struct {
		mariaDB, encrypted bool
		class, mode        string
	}{
		{true, false, mariaDB, ""}, {true, true, mariaDB, "verify-full"}, {false, false, mySQL, ""}, {false, true, mySQL, "verify_identity"},
	} {
		s := source()
		s.MariaDB, s.DatabaseTLS = c.mariaDB, c.encrypted
		all, err := s.Configurations()
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range connectors.Names() {
			if class, mode := all[name]["connector.class"], all[name]["database.ssl.mode"]; class != c.class || mode != c.mode {
				t.Errorf("%s of %+v: %s, %q", name, c, class, mode)
			}
		}
	}
}

func TestAMissingValueIsNamed(t *testing.T) {
	t.Parallel()
	s := source()
	s.Brokers = ""
	if _, err := s.Configurations(); err == nil || !strings.Contains(err.Error(), "no value for brokers") {
		t.Fatalf("error = %v", err)
	}
}

func TestTheWorkerConfigurationIsFilledIn(t *testing.T) {
	t.Parallel()
	text, err := connectors.Worker{Brokers: "k1:9092", Listener: "http://0.0.0.0:8083", AdvertisedHost: "connect-0", PluginPath: "/plugins",
		SecretsFolder: "/secrets", Replication: 3, OffsetPartitions: 25, StatusPartitions: 5, SessionTimeoutMS: 10000, RebalanceDelayMS: 300000}.Properties()
	if err != nil {
		t.Fatal(err)
	}
	settings := map[string]string{}
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" && line[0] != '#' {
			key, value, _ := strings.Cut(line, "=")
			settings[key] = value
		}
	}
	for key, want := range map[string]string{
		"bootstrap.servers": "k1:9092", "listeners": "http://0.0.0.0:8083", "rest.advertised.host.name": "connect-0", "plugin.path": "/plugins",
		"config.storage.topic": "connect-configs", "offset.storage.topic": "connect-offsets", "status.storage.topic": "connect-status",
		"config.storage.replication.factor": "3", "offset.storage.partitions": "25", "scheduled.rebalance.max.delay.ms": "300000",
		"producer.acks": "all", "producer.enable.idempotence": "true", "request.timeout.ms": "10000", "default.api.timeout.ms": "15000", "producer.request.timeout.ms": "10000", "value.converter.replace.null.with.default": "false",
		"value.converter.schemas.enable": "false", "key.converter.schemas.enable": "false",
	} {
		if settings[key] != want {
			t.Errorf("%s = %q, want %q", key, settings[key], want)
		}
	}
}
