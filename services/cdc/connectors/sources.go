package connectors

import (
	_ "embed" // the configurations
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// The connectors. Both carry the beats of cdc_heartbeat: each its own row at first hand and the other's as well, so
// a record of that table has the header "connector" with the name of the one that carried it.
const (
	Existing   = "source-existing"   // userDetails, billing, labReportRelation
	Projection = "source-projection" // user_meta
)

// CarrierHeader is the header of a beat that names the connector that carried it.
const CarrierHeader = "connector"

//go:embed source.json
var template string

// difference is in what the connectors differ.
type difference struct {
	serverID   string // equal ones throw each other out
	tables     []string
	unreadable string // what becomes of a value that cannot be read: images of user_meta are indexed as they are
}

var differences = map[string]difference{
	Existing:   {"585701", []string{"userDetails", "billing", "labReportRelation", "cdc_heartbeat"}, "warn"},
	Projection: {"585702", []string{"user_meta", "cdc_heartbeat"}, "fail"},
}

// Tables lists the tables whose rows are read.
func Tables() []string {
	var all []string
	for _, of := range differences {
		all = append(all, of.tables...)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// Source are the values of the source connectors' configurations that differ from place to place, as the connector
// runtime sees them.
type Source struct {
	MariaDB                        bool // else MySQL; each has a connector of its own
	DatabaseHost, DatabasePort     string
	DatabaseUser, DatabasePassword string
	Database                       string
	DatabaseTLS                    bool   // with a certificate that the runtime's Java trusts
	TopicPrefix                    string // Debezium's topic.prefix: without the database's name
	Brokers                        string // host:port with commas between; for the history of the tables' structure
	Security                       Security
	Replication, MinInSync         int // of a topic that the connector has to make, normally none
	HeartbeatMS                    int // how often each connector beats
}

// connector is what differs between the connectors of the two servers.
type connector struct {
	class  string
	verify string // the ssl.mode that verifies the server and its name
}

var (
	mariaDBConnector = connector{"io.debezium.connector.mariadb.MariaDbConnector", "verify-full"}
	mysqlConnector   = connector{"io.debezium.connector.mysql.MySqlConnector", "verify_identity"}
)

// Names lists the connectors in the order in which changes flow.
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
