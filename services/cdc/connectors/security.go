package connectors

import "strings"

// Security is how the connectors' own Kafka clients, those of the history of the tables' structure, reach the brokers.
// The runtime's clients are configured in its worker configuration.
type Security struct {
	TLS            bool   // with certificates that the runtime's Java trusts
	User, Password string // SASL, over TLS alone: "" without
	Mechanism      string // PLAIN, SCRAM-SHA-256 or SCRAM-SHA-512
}

// settings returns the settings of a Java client; a plain connection needs none.
func (s Security) settings() map[string]string {
	switch {
	case !s.TLS:
		return nil
	case s.User == "":
		return map[string]string{"security.protocol": "SSL"}
	}
	module := "org.apache.kafka.common.security.scram.ScramLoginModule"
	if s.Mechanism == "PLAIN" {
		module = "org.apache.kafka.common.security.plain.PlainLoginModule"
	}
	return map[string]string{
		"security.protocol": "SASL_SSL",
		"sasl.mechanism":    s.Mechanism,
		"sasl.jaas.config":  module + " required username=" + jaasQuote(s.User) + " password=" + jaasQuote(s.Password) + ";",
	}
}

// jaasQuote writes a value as the grammar of JAAS files has it.
func jaasQuote(value string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(value) + `"`
}
