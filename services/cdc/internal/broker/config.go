// Package broker provides access to Kafka: client settings, the consumer group, the producer of dead letters, and the
// topics. It does not interpret the records.
package broker

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/IBM/sarama"

	"github.com/labplatform/labplatform/pkg/config"
	"github.com/labplatform/labplatform/pkg/tlsfiles"
)

// GroupID is the consumer group, as named in the API document and in the brokers' access rules.
const GroupID = "cdc-unified"

// Config holds the connection to the brokers and the consumer group.
type Config struct {
	Brokers []string `env:"KAFKA_BROKERS" envDefault:"127.0.0.1:19092"`
	// Version is the Kafka protocol version, at most that of the brokers.
	Version string          `env:"KAFKA_VERSION" envDefault:"3.6.0"`
	TLS     tlsfiles.Client `envPrefix:"KAFKA_"`
	// User enables SASL, which requires TLS.
	User      string        `env:"KAFKA_USER"`
	Password  config.Secret `env:"KAFKA_PASSWORD"`
	Mechanism string        `env:"KAFKA_SASL_MECHANISM" envDefault:"PLAIN"`

	// Group must be cdc-unified: any other group has no access and no offsets, so it would read all records from the
	// start.
	Group string `env:"CONSUMER_GROUP" envDefault:"cdc-unified"`
	// SessionTimeout is how long the brokers wait for a silent member. Until then, a replacement on another node gets no
	// partitions.
	SessionTimeout time.Duration `env:"SESSION_TIMEOUT" envDefault:"10s"`
}

// Validate rejects settings that the brokers would reject later or wrongly accept.
func (c *Config) Validate() error {
	var problems []error
	if len(c.Brokers) == 0 {
		problems = append(problems, errors.New("KAFKA_BROKERS must name at least one broker as host:port"))
	}
	if _, err := sarama.ParseKafkaVersion(c.Version); err != nil {
		problems = append(problems, fmt.Errorf("KAFKA_VERSION is %q: give a version like 3.6.0", c.Version))
	}
	if c.Group != GroupID {
		problems = append(problems,
			fmt.Errorf("CONSUMER_GROUP is %q: set it to %s, the group that the access rules name", c.Group, GroupID))
	}
	if c.User != "" && !c.TLS.Enabled {
		problems = append(problems, errors.New("KAFKA_USER needs KAFKA_TLS=true: a password is not sent in clear"))
	}
	if _, known := mechanisms[c.Mechanism]; !known {
		problems = append(problems, fmt.Errorf("KAFKA_SASL_MECHANISM is %q: use one of %s",
			c.Mechanism, strings.Join(slices.Sorted(maps.Keys(mechanisms)), ", ")))
	}
	return errors.Join(problems...)
}

// Limits of the clients. Fetches are limited in compressed bytes, and the JSON is about ten times larger in memory. A
// claim thus gets a few hundred records, and all claims together use about 20 MiB. Larger records still arrive, because
// the broker sends at least one batch.
const (
	fetchBytes      = 64 << 10
	fetchAllBytes   = 1 << 20
	requestBytes    = 16 << 20
	claimBuffer     = 256
	rebalanceWait   = 60 * time.Second
	slowestBatch    = 30 * time.Second // after this, sarama stops fetching a partition; must exceed ApplyTimeout
	heartbeatEvery  = 3 * time.Second
	commitEvery     = time.Second
	metadataRefresh = time.Minute
	dialTimeout     = 5 * time.Second
	requestTimeout  = 10 * time.Second
	memberTimeout   = 5 * time.Second // for requests of a group member; see Retry.Max in consumer
)

// client returns the settings shared by all clients.
func (c Config) client(name string) (*sarama.Config, error) {
	version, err := sarama.ParseKafkaVersion(c.Version)
	if err != nil {
		return nil, fmt.Errorf("kafka version: %w", err)
	}
	s := sarama.NewConfig()
	s.Version = version
	s.ClientID = name
	s.Net.DialTimeout, s.Net.ReadTimeout, s.Net.WriteTimeout = dialTimeout, requestTimeout, requestTimeout
	if secure := c.TLS.Configuration(); secure != nil {
		// sarama uses this TLS configuration for all connections, so rotated files take effect after a restart.
		s.Net.TLS.Enable = true
		if s.Net.TLS.Config, err = secure(); err != nil {
			return nil, fmt.Errorf("kafka TLS: %w", err)
		}
	}
	if c.User != "" {
		s.Net.SASL.Enable, s.Net.SASL.User, s.Net.SASL.Password = true, c.User, c.Password.Reveal()
		s.Net.SASL.Mechanism = sarama.SASLMechanism(c.Mechanism)
		s.Net.SASL.SCRAMClientGeneratorFunc = mechanisms[c.Mechanism]
	}
	s.Metadata.RefreshFrequency = metadataRefresh
	s.Metadata.AllowAutoTopicCreation = false
	return s, nil
}

// admin returns a connection for reading topics and groups, and for changing topics. The caller closes it.
func (c Config) admin(name string) (sarama.ClusterAdmin, error) {
	settings, err := c.client(name)
	if err != nil {
		return nil, err
	}
	admin, err := sarama.NewClusterAdmin(c.Brokers, settings)
	if err != nil {
		return nil, fmt.Errorf("reach the brokers %s: %w", strings.Join(c.Brokers, ","), err)
	}
	return admin, nil
}

// consumerID returns the client id of the named group member.
func consumerID(name string) string { return "cdc-consumer-" + name }

// consumer returns the settings of the named group member.
func (c Config) consumer(name string) (*sarama.Config, error) {
	s, err := c.client(consumerID(name))
	if err != nil {
		return nil, err
	}
	s.Net.ReadTimeout = memberTimeout
	s.ChannelBufferSize = claimBuffer
	s.Consumer.Return.Errors = true
	s.Consumer.Fetch.Default, s.Consumer.Fetch.Max, s.Consumer.Fetch.MaxBytes = fetchBytes, requestBytes, fetchAllBytes
	s.Consumer.MaxProcessingTime = slowestBatch
	s.Consumer.Offsets.Initial = sarama.OffsetOldest // a new group starts at the oldest record
	s.Consumer.Offsets.AutoCommit.Interval = commitEvery
	s.Consumer.Group.Rebalance.GroupStrategies = []sarama.BalanceStrategy{sarama.NewBalanceStrategyCooperativeSticky()}
	s.Consumer.Group.Rebalance.Timeout = rebalanceWait
	// The number of further heartbeats that sarama sends to an unresponsive coordinator before it looks for another one.
	s.Metadata.Retry.Max = 1
	s.Consumer.Group.Session.Timeout, s.Consumer.Group.Heartbeat.Interval = c.SessionTimeout, heartbeatEvery
	return s, nil
}

// producer returns the settings of a producer that neither loses nor duplicates records. It partitions like Java
// clients, so that all records of a key are in one partition.
func (c Config) producer() (*sarama.Config, error) {
	s, err := c.client("cdc-producer")
	if err != nil {
		return nil, err
	}
	s.Producer.RequiredAcks = sarama.WaitForAll
	s.Producer.Idempotent = true
	s.Net.MaxOpenRequests = 1
	s.Producer.Partitioner = sarama.NewMurmur2Partitioner
	s.Producer.Return.Successes, s.Producer.Return.Errors = true, true
	s.Producer.MaxMessageBytes = requestBytes
	return s, nil
}
