package capture

import (
	"fmt"
	"testing"

	"github.com/IBM/sarama"
)

// uncommitted returns the number of records in the source and projection topics that the consumer group has not
// committed. Heartbeats are left out, because they never stop.
func uncommitted() (int64, error) {
	settings := sarama.NewConfig()
	settings.Version = sarama.V3_6_0_0
	client, err := sarama.NewClient(platform.Endpoints.KafkaBrokers, settings)
	if err != nil {
		return 0, err
	}
	defer client.Close()
	admin, err := sarama.NewClusterAdminFromClient(client)
	if err != nil {
		return 0, err
	}
	var lag int64
	for _, table := range []string{"userDetails", "billing", "labReportRelation", "user_meta"} {
		topic := platform.Endpoints.TopicPrefix + "." + table
		partitions, err := client.Partitions(topic)
		if err != nil {
			return 0, err
		}
		committed, err := admin.ListConsumerGroupOffsets("cdc-unified", map[string][]int32{topic: partitions})
		if err != nil {
			return 0, err
		}
		for _, p := range partitions {
			end, err := client.GetOffset(topic, p, sarama.OffsetNewest)
			if err != nil {
				return 0, err
			}
			block := committed.GetBlock(topic, p)
			if block == nil {
				return 0, fmt.Errorf("no offset of %s/%d", topic, p)
			}
			lag += end - max(0, block.Offset)
		}
	}
	return lag, nil
}

// kafka returns a client of the platform's brokers.
func kafka(t *testing.T) sarama.Client {
	t.Helper()
	settings := sarama.NewConfig()
	settings.Version = sarama.V3_6_0_0
	client, err := sarama.NewClient(platform.Endpoints.KafkaBrokers, settings)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Close() })
	return client
}

// endsOf returns the next offsets of the data topics by partition.
func endsOf(t *testing.T, client sarama.Client) map[string]map[int32]int64 {
	t.Helper()
	all := map[string]map[int32]int64{}
	for _, table := range []string{"userDetails", "billing", "labReportRelation", "user_meta"} {
		topic := platform.Endpoints.TopicPrefix + "." + table
		partitions, err := client.Partitions(topic)
		if err != nil {
			t.Fatal(err)
		}
		all[topic] = map[int32]int64{}
		for _, p := range partitions {
			if all[topic][p], err = client.GetOffset(topic, p, sarama.OffsetNewest); err != nil {
				t.Fatal(err)
			}
		}
	}
	return all
}

// moveToTheEnd sets the offsets of the consumer group like kafka-consumer-groups --reset-offsets --to-latest.
func moveToTheEnd(t *testing.T) {
	t.Helper()
	client := kafka(t)
	coordinator, err := client.Coordinator("cdc-unified")
	if err != nil {
		t.Fatal(err)
	}
	request := &sarama.OffsetCommitRequest{Version: 2, ConsumerGroup: "cdc-unified", ConsumerGroupGeneration: -1, RetentionTime: -1}
	for topic, ends := range endsOf(t, client) {
		for partition, end := range ends {
			request.AddBlock(topic, partition, end, 0, "")
		}
	}
	answer, err := coordinator.CommitOffset(request)
	if err != nil {
		t.Fatal(err)
	}
	for topic, failures := range answer.Errors {
		for partition, err := range failures {
			if err != sarama.ErrNoError {
				t.Fatalf("move the offset of %s/%d: %v", topic, partition, err)
			}
		}
	}
}

// membership returns the members of the consumer group and their partitions, as text.
func membership() string {
	settings := sarama.NewConfig()
	settings.Version = sarama.V3_6_0_0
	admin, err := sarama.NewClusterAdmin(platform.Endpoints.KafkaBrokers, settings)
	if err != nil {
		return err.Error()
	}
	defer admin.Close()
	groups, err := admin.DescribeConsumerGroups([]string{"cdc-unified"})
	if err != nil || len(groups) != 1 {
		return fmt.Sprint(groups, err)
	}
	text := "group " + groups[0].State
	for id, m := range groups[0].Members {
		given, err := m.GetMemberAssignment()
		text += fmt.Sprintf("\n%s: %v %v", id, given, err)
	}
	return text
}
