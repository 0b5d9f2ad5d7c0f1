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
