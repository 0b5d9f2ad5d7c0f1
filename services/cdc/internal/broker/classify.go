package broker

import (
	"errors"

	"github.com/IBM/sarama"

	"github.com/labplatform/labplatform/services/cdc/internal/outcome"
)

// advices maps errors that do not resolve by themselves to what an operator should do.
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

// Classify returns the fault for an error of the brokers. Errors that an operator has to fix are told apart from
// temporary ones, such as the restart of a broker or the move of a partition.
func Classify(err error) *outcome.Fault {
	for _, a := range advices {
		if errors.Is(err, a.code) {
			return &outcome.Fault{Err: err, Operator: true, Advice: a.advice}
		}
	}
	return &outcome.Fault{Err: err}
}
