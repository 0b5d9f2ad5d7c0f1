package capture

import (
	"fmt"

	"github.com/IBM/sarama"
)

// uncommitted returns how many records of the source and projection topics the consumer group has not committed, as the brokers say.
// Heartbeats are left out: they never end.
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

// membership tells who the consumer group's members are, and which partitions each was given.
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
