package broker

import (
	"errors"

	"github.com/IBM/sarama"

	"github.com/labplatform/labplatform/services/cdc/internal/outcome"
)

// advices maps permanent errors to advice for the operator.
var advices = []struct {
	code   sarama.KError
	advice string
}{
	{
		sarama.ErrGroupAuthorizationFailed,
		"set CDC_CONSUMER_GROUP to " + GroupID + " or allow the group in the brokers' access rules",
	},
	{sarama.ErrTopicAuthorizationFailed, "allow this user to read the pipeline's topics"},
	{sarama.ErrClusterAuthorizationFailed, "allow this user to use the cluster"},
	{sarama.ErrSASLAuthenticationFailed, "check CDC_KAFKA_USER and CDC_KAFKA_PASSWORD"},
	{sarama.ErrUnsupportedSASLMechanism, "allow SASL/PLAIN on the brokers' listener"},
	{sarama.ErrUnknownTopicOrPartition, "run cdc migrate, which makes the topics"},
	{sarama.ErrUnsupportedVersion, "lower CDC_KAFKA_VERSION to the brokers' version"},
	{sarama.ErrInconsistentGroupProtocol, "stop the older consumers of the group: their strategy differs"},
}

// Classify returns the fault for a broker error. It distinguishes errors that an operator has to fix from temporary
// ones, such as a broker restart or a partition move.
func Classify(err error) *outcome.Fault {
	for _, a := range advices {
		if errors.Is(err, a.code) {
			return &outcome.Fault{Err: err, Operator: true, Advice: a.advice}
		}
	}
	return &outcome.Fault{Err: err}
}
