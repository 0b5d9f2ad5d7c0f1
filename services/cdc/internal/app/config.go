// Package app is the cdc process: it loads the settings, runs the verbs, and starts the parts of the service.
package app

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/labplatform/labplatform/pkg/config"
	"github.com/labplatform/labplatform/pkg/elastic"
	"github.com/labplatform/labplatform/pkg/mysqldb"
	"github.com/labplatform/labplatform/pkg/service"
	"github.com/labplatform/labplatform/services/cdc/internal/broker"
	"github.com/labplatform/labplatform/services/cdc/internal/consume"
	"github.com/labplatform/labplatform/services/cdc/internal/indexsync"
	"github.com/labplatform/labplatform/services/cdc/internal/purge"
	elasticstore "github.com/labplatform/labplatform/services/cdc/internal/store/elastic"
)

// Prefix is the prefix of the service's environment variables.
const Prefix = "CDC_"

// Default ports.
const (
	defaultGRPCPort   = 9011
	defaultHealthPort = 8080
)

// applyAtStart is the value of CONNECTORS_APPLY with which the service applies the connectors' configurations when it
// starts.
const applyAtStart = "start"

// Config holds all settings of the service.
type Config struct {
	service.Config
	DB      mysqldb.Config `envPrefix:"DB_"`
	ES      elastic.Config `envPrefix:"ES_"`
	Kafka   broker.Config
	Topics  broker.TopicConfig
	Consume consume.Config
	Bulk    indexsync.WriterConfig `envPrefix:"BULK_"`
	Index   elasticstore.Config    `envPrefix:"INDEX_"`
	Purge   purge.Config           `envPrefix:"PURGE_"`
	Connect ConnectConfig

	// PhaseOverride sets the phase (running or migration), which is otherwise detected from the column full_name.
	PhaseOverride string `env:"PHASE_OVERRIDE"`
	// ReconcileEvery is the interval of the continuous reconciliation, whose runs compare laboratories for a sixth of it;
	// 0 turns it off.
	ReconcileEvery time.Duration `env:"RECONCILE_EVERY" envDefault:"1m"`
}

// ConnectConfig holds the addresses of the connector runtime, and how the connectors reach the database and the
// brokers.
type ConnectConfig struct {
	URLs []string `env:"CONNECT_URL" envDefault:"http://127.0.0.1:8083"` // addresses of the workers' REST APIs
	// Apply is start (the service applies both configurations at startup) or never (another tool applies them).
	Apply    string        `env:"CONNECTORS_APPLY" envDefault:"start"`
	DBHost   string        `env:"CONNECTOR_DB_HOST"` // default: CDC_DB_HOST
	DBPort   int           `env:"CONNECTOR_DB_PORT"` // default: CDC_DB_PORT
	User     string        `env:"CONNECTOR_DB_USER" envDefault:"cdc_connector"`
	Password config.Secret `env:"CONNECTOR_DB_PASSWORD"`
	// Brokers are the broker addresses as seen from the connector runtime; default: CDC_KAFKA_BROKERS.
	Brokers string `env:"CONNECTOR_KAFKA_BROKERS"`
	// Heartbeat is the interval of each connector's heartbeats.
	Heartbeat time.Duration `env:"CONNECTOR_HEARTBEAT" envDefault:"2s"`
}

// Load reads the settings from environ.
func Load(environ []string) (Config, error) {
	cfg := Config{}
	cfg.Ports(defaultGRPCPort, defaultHealthPort)
	if err := config.Load(Prefix, &cfg, environ); err != nil {
		return cfg, err
	}
	if cfg.Connect.DBHost == "" {
		cfg.Connect.DBHost = cfg.DB.Host
	}
	if cfg.Connect.DBPort == 0 {
		cfg.Connect.DBPort = cfg.DB.Port
	}
	if cfg.Connect.Brokers == "" {
		cfg.Connect.Brokers = strings.Join(cfg.Kafka.Brokers, ",")
	}
	return cfg, nil
}

// Validate rejects settings that would silently lose or delay records.
func (c *Config) Validate() error {
	var problems []error
	if c.PhaseOverride != "" && c.PhaseOverride != "running" && c.PhaseOverride != "migration" {
		problems = append(problems,
			fmt.Errorf("PHASE_OVERRIDE is %q: give running or migration, or leave it empty", c.PhaseOverride))
	}
	if c.Topics.Database() != c.DB.Database {
		problems = append(
			problems,
			fmt.Errorf("TOPIC_PREFIX %q does not end in the database of DB_DATABASE, %q: the topics would be another database's",
				c.Topics.Prefix, c.DB.Database),
		)
	}
	if c.Connect.Apply != applyAtStart && c.Connect.Apply != "never" {
		problems = append(problems, fmt.Errorf("CONNECTORS_APPLY is %q: give start or never", c.Connect.Apply))
	}
	if len(c.Connect.URLs) == 0 || slices.ContainsFunc(c.Connect.URLs, notHTTP) {
		problems = append(problems,
			errors.New("CONNECT_URL must be the address of Kafka Connect's REST, like http://connect:8083, or several with commas between"))
	}
	if c.Purge.After <= c.Topics.Retention {
		problems = append(
			problems,
			fmt.Errorf(
				"PURGE_AFTER %s must be longer than TOPIC_RETENTION %s: an event that is still there could bring a deleted patient back",
				c.Purge.After, c.Topics.Retention),
		)
	}
	if c.ReconcileEvery < 0 || c.Connect.Heartbeat <= 0 {
		problems = append(problems,
			errors.New("RECONCILE_EVERY must not be negative and CONNECTOR_HEARTBEAT must be above zero"))
	}
	return errors.Join(problems...)
}

func notHTTP(address string) bool {
	u, err := url.Parse(address)
	return err != nil || u.Host == "" || (u.Scheme != "http" && u.Scheme != "https")
}
