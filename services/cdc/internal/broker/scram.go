package broker

import (
	"fmt"

	"github.com/IBM/sarama"
	"github.com/xdg-go/scram"
)

// mechanisms maps each SASL mechanism to the constructor of its client; nil for PLAIN, which needs none.
var mechanisms = map[string]func() sarama.SCRAMClient{
	sarama.SASLTypePlaintext:   nil,
	sarama.SASLTypeSCRAMSHA256: func() sarama.SCRAMClient { return &scramClient{hash: scram.SHA256} },
	sarama.SASLTypeSCRAMSHA512: func() sarama.SCRAMClient { return &scramClient{hash: scram.SHA512} },
}

// scramClient authenticates by SCRAM (RFC 5802), which does not send the password.
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
