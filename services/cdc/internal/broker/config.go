// Package broker owns how the consumer talks to Kafka: client settings, the consumer group, producers of dead letters,
// and the topics of the pipeline. Row changes mean nothing here.
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

// GroupID is the consumer group that the interface document and the brokers' access rules name.
const GroupID = "cdc-unified"

// Config holds the connection to the brokers.
type Config struct {
	Brokers []string `env:"KAFKA_BROKERS" envDefault:"127.0.0.1:19092"`
	// Version is the protocol version to speak; at most the brokers'.
	Version string          `env:"KAFKA_VERSION" envDefault:"3.6.0"`
	TLS     tlsfiles.Client `envPrefix:"KAFKA_"`
	// User switches SASL on; it needs TLS.
	User      string        `env:"KAFKA_USER"`
	Password  config.Secret `env:"KAFKA_PASSWORD"`
	Mechanism string        `env:"KAFKA_SASL_MECHANISM" envDefault:"PLAIN"`

	// Group must be cdc-unified: anything else has no access and would read everything again.
	Group string `env:"CONSUMER_GROUP" envDefault:"cdc-unified"`
	// SessionTimeout is how long the brokers wait for a silent member: so long one that replaces it elsewhere reads
	// nothing.
	SessionTimeout time.Duration `env:"SESSION_TIMEOUT" envDefault:"10s"`
}

// Validate refuses what the brokers would refuse later or, worse, accept.
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

// Limits of the clients. Fetches are counted compressed, and JSON is about ten times that in memory: a claim gets a few
// hundred records, all claims together hold about 20 MiB. A larger record still arrives: the broker sends at least one
// batch.
const (
	fetchBytes      = 64 << 10
	fetchAllBytes   = 1 << 20
	requestBytes    = 16 << 20
	claimBuffer     = 256
	rebalanceWait   = 60 * time.Second
	slowestBatch    = 30 * time.Second // sarama gives a partition up for slow after this; our own bound is shorter
	heartbeatEvery  = 3 * time.Second
	commitEvery     = time.Second
	metadataRefresh = time.Minute
	dialTimeout     = 5 * time.Second
	requestTimeout  = 10 * time.Second
	memberTimeout   = 5 * time.Second // of a member's requests; see Retry.Max below
)

// client returns the settings that every kind of client shares.
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
		// The client library keeps it for all its connections: rotated files need a restart.
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

// admin returns a connection for questions about topics and groups, and for changes of topics. The caller closes it.
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

// consumerID is how brokers know the group's member of that name.
func consumerID(name string) string { return "cdc-consumer-" + name }

// consumer returns the settings of the group's member of that name.
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
	s.Consumer.Offsets.Initial = sarama.OffsetOldest // a new group must not skip what is there
	s.Consumer.Offsets.AutoCommit.Interval = commitEvery
	s.Consumer.Group.Rebalance.GroupStrategies = []sarama.BalanceStrategy{sarama.NewBalanceStrategyCooperativeSticky()}
	s.Consumer.Group.Rebalance.Timeout = rebalanceWait
	// The library beats to a coordinator that is silent so many times more before it looks for another one.
	s.Metadata.Retry.Max = 1
	s.Consumer.Group.Session.Timeout, s.Consumer.Group.Heartbeat.Interval = c.SessionTimeout, heartbeatEvery
	return s, nil
}

// producer returns the settings of a producer that loses and doubles nothing. It partitions as Java does, so that a key
// stays in its partition.
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
