package broker

import (
	"fmt"

	"github.com/IBM/sarama"
	"github.com/xdg-go/scram"
)

// mechanisms are the ways to prove a password to the brokers, with what holds the conversation; PLAIN needs none.
var mechanisms = map[string]func() sarama.SCRAMClient{
	sarama.SASLTypePlaintext:   nil,
	sarama.SASLTypeSCRAMSHA256: func() sarama.SCRAMClient { return &scramClient{hash: scram.SHA256} },
	sarama.SASLTypeSCRAMSHA512: func() sarama.SCRAMClient { return &scramClient{hash: scram.SHA512} },
}

// scramClient proves a password without telling it, as RFC 5802 says.
type scramClient struct {
	hash scram.HashGeneratorFcn
	*scram.ClientConversation
}

var _ sarama.SCRAMClient = (*scramClient)(nil)

func (c *scramClient) Begin(user, password, authzID string) error {
	client, err := c.hash.NewClient(user, password, authzID)
	if err != nil {
		return fmt.Errorf("SCRAM: %w", err)
	}
	c.ClientConversation = client.NewConversation()
	return nil
}
