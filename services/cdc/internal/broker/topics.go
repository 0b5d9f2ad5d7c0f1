package broker

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"strings"
	"time"

	"github.com/IBM/sarama"

	"github.com/labplatform/labplatform/services/cdc/internal/change"
)

// Topics with fixed names.
const (
	DeadLetters          = "cdc.dead-letter-queue"
	ConnectorDeadLetters = "cdc.connector-dlq"
)

const (
	dataPartitions = 6
	forever        = -time.Millisecond
	deadLetterKeep = 30 * 24 * time.Hour
	// maxMessageBytes is large enough for both row images of a patient with thousands of bills.
	maxMessageBytes = "10485760"
)

// TopicConfig holds the settings of topics that differ between a cluster and a single machine.
type TopicConfig struct {
	// Prefix is the connectors' topic.prefix, a dot and the database name, such as lab.labdb.
	Prefix      string        `env:"TOPIC_PREFIX" envDefault:"lab.lab"`
	Replication int16         `env:"TOPIC_REPLICATION" envDefault:"3"`
	MinInSync   int           `env:"TOPIC_MIN_INSYNC" envDefault:"2"`
	Retention   time.Duration `env:"TOPIC_RETENTION" envDefault:"168h"`
}

// Validate rejects a prefix that no connector accepts, and more in-sync replicas than replicas.
func (c *TopicConfig) Validate() error {
	var problems []error
	if server, database, ok := strings.Cut(c.Prefix, "."); !ok || server == "" || database == "" ||
		strings.Contains(database, ".") {
		problems = append(
			problems,
			fmt.Errorf("TOPIC_PREFIX is %q: give the connectors' topic.prefix, a dot and the database name, as in lab.labdb",
				c.Prefix),
		)
	}
	if c.MinInSync > int(c.Replication) || c.Replication < 1 {
		problems = append(problems,
			errors.New("TOPIC_MIN_INSYNC must not be above TOPIC_REPLICATION: no write could ever be acknowledged"))
	}
	return errors.Join(problems...)
}

// Server returns the connectors' topic.prefix.
func (c TopicConfig) Server() string { s, _, _ := strings.Cut(c.Prefix, "."); return s }

// Database returns the name of the captured database.
func (c TopicConfig) Database() string { _, d, _ := strings.Cut(c.Prefix, "."); return d }

// Topic returns the full name of a table's topic.
func (c TopicConfig) Topic(table string) string { return c.Prefix + "." + table }

// SchemaHistory returns the topic in which a connector stores the history of table structures.
func (c TopicConfig) SchemaHistory(connector string) string {
	return c.Server() + ".schema-history." + connector
}

// Consumed returns the topics that the group reads.
func (c TopicConfig) Consumed() []string {
	var topics []string
	for _, table := range []string{
		change.UserDetails, change.Billing, change.LabReportRelation, change.UserMeta, change.Heartbeat,
	} {
		topics = append(topics, c.Topic(table))
	}
	return topics
}

// topics returns all topics of the pipeline with their settings. The number of replicas is the configured one. The
// schema history is kept forever in a single partition, because a connector replays it from the start and in order.
func (c TopicConfig) topics(connectors []string) map[string]*sarama.TopicDetail {
	detail := func(partitions int32, keep time.Duration) *sarama.TopicDetail {
		return &sarama.TopicDetail{
			NumPartitions:     partitions,
			ReplicationFactor: c.Replication,
			ConfigEntries: map[string]*string{
				"retention.ms":        new(strconv.FormatInt(keep.Milliseconds(), 10)),
				"min.insync.replicas": new(strconv.Itoa(c.MinInSync)),
				"cleanup.policy":      new("delete"),
				"max.message.bytes":   new(maxMessageBytes),
			},
		}
	}
	all := map[string]*sarama.TopicDetail{
		DeadLetters: detail(dataPartitions, deadLetterKeep), ConnectorDeadLetters: detail(1, deadLetterKeep),
		c.Topic(change.Signal): detail(1, c.Retention), "__debezium-heartbeat." + c.Server(): detail(1, c.Retention),
	}
	for _, topic := range c.Consumed() {
		all[topic] = detail(dataPartitions, c.Retention)
	}
	for _, connector := range connectors {
		all[c.SchemaHistory(connector)] = detail(1, forever)
	}
	return all
}

// EnsureTopics creates the missing topics. If a topic has too few partitions, or several where order requires one, it
// leaves the topic as it is and returns an error. It may run in several processes at once.
func EnsureTopics(ctx context.Context, cfg Config, topics TopicConfig, connectors []string, log *slog.Logger) error {
	admin, err := cfg.admin("cdc-migrate")
	if err != nil {
		return err
	}
	defer func() { _ = admin.Close() }()
	existing, err := admin.ListTopics()
	if err != nil {
		return fmt.Errorf("list topics: %w", err)
	}
	var problems []error
	for name, detail := range topics.topics(connectors) {
		if err := ctx.Err(); err != nil {
			return err
		}
		if have, ok := existing[name]; ok {
			problems = append(problems, fits(name, have.NumPartitions, detail.NumPartitions))
			continue
		}
		if err := admin.CreateTopic(name, detail, false); err != nil && !errors.Is(err, sarama.ErrTopicAlreadyExists) {
			problems = append(problems, fmt.Errorf("create topic %s: %w", name, err))
			continue
		}
		log.Info("topic created", "topic", name, "partitions", detail.NumPartitions, "replication", detail.ReplicationFactor)
	}
	return errors.Join(problems...)
}

// fits returns an error with advice if a topic has a wrong number of partitions. Data topics may have more than needed,
// because Grow adds partitions.
func fits(topic string, have, needs int32) error {
	switch {
	case have == needs, have > needs && needs == dataPartitions:
		return nil
	case needs == dataPartitions:
		return fmt.Errorf("topic %s has %d partitions, not %d: run cdc topics grow", topic, have, needs)
	}
	return fmt.Errorf("topic %s has %d partitions, not %d: create it again (docs/runbooks/cdc.md, a lost place)", topic, have, needs)
}
