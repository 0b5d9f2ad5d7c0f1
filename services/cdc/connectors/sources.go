package connectors

import (
	_ "embed" // embed the configurations
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Names of the connectors. Both capture all rows of cdc_heartbeat, including the other connector's row. A heartbeat
// record therefore has a header with the name of the connector that captured it.
const (
	Existing   = "source-existing"   // captures userDetails, billing, labReportRelation
	Projection = "source-projection" // captures user_meta
)

// CarrierHeader is the header of heartbeat records with the name of the connector that captured the record.
const CarrierHeader = "connector"

//go:embed source.json
var template string

// difference holds the settings that differ between the connectors.
type difference struct {
	serverID   string // must be unique: of two connections with the same id, the server closes the older one
	tables     []string
	unreadable string // what to do with an unreadable value: fail for user_meta, whose row images are indexed unchanged
}

var differences = map[string]difference{
	Existing:   {"585701", []string{"userDetails", "billing", "labReportRelation", "cdc_heartbeat"}, "warn"},
	Projection: {"585702", []string{"user_meta", "cdc_heartbeat"}, "fail"},
}

// Tables returns the captured tables.
func Tables() []string {
	var all []string
	for _, of := range differences {
		all = append(all, of.tables...)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// Source holds the connector settings that differ between installations. Addresses are as seen from the connector
// runtime.
type Source struct {
	MariaDB                        bool // false: MySQL, which has another connector class
	DatabaseHost, DatabasePort     string
	DatabaseUser, DatabasePassword string
	Database                       string
	DatabaseTLS                    bool   // the Java runtime must trust the database's certificate
	TopicPrefix                    string // Debezium's topic.prefix, without the database name
	Brokers                        string // host:port, separated by commas; for the schema history
	Security                       Security
	Replication, MinInSync         int // for topics that a connector creates itself, normally none
	HeartbeatMS                    int // interval of each connector's heartbeats
}

// connector holds what differs between the connector classes for MySQL and MariaDB.
type connector struct {
	class  string
	verify string // the ssl.mode that verifies the certificate and the host name
}

var (
	mariaDBConnector = connector{"io.debezium.connector.mariadb.MariaDbConnector", "verify-full"}
	mysqlConnector   = connector{"io.debezium.connector.mysql.MySqlConnector", "verify_identity"}
)

// Names returns the connectors in the order of the data flow.
func Names() []string { return []string{Existing, Projection} }

// Configurations returns the configuration of each connector by its name.
func (s Source) Configurations() (map[string]map[string]string, error) {
	all := map[string]map[string]string{}
	for name, of := range differences {
		configuration, err := s.fillIn(name, of)
		if err != nil {
			return nil, fmt.Errorf("configuration of %s: %w", name, err)
		}
		all[name] = configuration
	}
	return all, nil
}

func (s Source) fillIn(name string, of difference) (map[string]string, error) {
	kind := mysqlConnector
	if s.MariaDB {
		kind = mariaDBConnector
	}
	tables := make([]string, len(of.tables))
	for i, table := range of.tables {
		tables[i] = s.Database + "." + table
	}
	values := map[string]string{
		"name":              name,
		"server_id":         of.serverID,
		"tables":            strings.Join(tables, ","),
		"unreadable":        of.unreadable,
		"connector_class":   kind.class,
		"database_host":     s.DatabaseHost,
		"database_port":     s.DatabasePort,
		"database_user":     s.DatabaseUser,
		"database_password": s.DatabasePassword,
		"database":          s.Database,
		"topic_prefix":      s.TopicPrefix,
		"brokers":           s.Brokers,
		"replication":       strconv.Itoa(s.Replication),
		"min_insync":        strconv.Itoa(s.MinInSync),
		"heartbeat_ms":      strconv.Itoa(s.HeartbeatMS),
	}
	for name, value := range values {
		if value == "" {
			return nil, fmt.Errorf("no value for %s", name)
		}
		quoted, err := json.Marshal(value)
		if err != nil {
			return nil, err
		}
		values[name] = string(quoted[1 : len(quoted)-1])
	}
	text, err := fill(template, values)
	if err != nil {
		return nil, err
	}
	var configuration map[string]string
	if err := json.Unmarshal([]byte(text), &configuration); err != nil {
		return nil, fmt.Errorf("template is not a flat JSON object: %w", err)
	}
	for key, value := range s.Security.settings() {
		configuration["schema.history.internal.producer."+key] = value
		configuration["schema.history.internal.consumer."+key] = value
	}
	if s.DatabaseTLS {
		configuration["database.ssl.mode"] = kind.verify
	}
	return configuration, nil
}
