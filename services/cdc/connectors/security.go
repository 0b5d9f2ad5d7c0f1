package connectors

import "strings"

// Security describes how the connectors' Kafka clients, which store the schema history, connect to the brokers. The
// worker configuration has its own settings for the runtime's clients.
type Security struct {
	TLS            bool   // the Java runtime must trust the brokers' certificates
	User, Password string // for SASL, which requires TLS; empty: no authentication
	Mechanism      string // PLAIN, SCRAM-SHA-256 or SCRAM-SHA-512
}

// settings returns the settings of a Java client; none without TLS.
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

// jaasQuote quotes a value for use in a JAAS configuration.
func jaasQuote(value string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(value) + `"`
}
