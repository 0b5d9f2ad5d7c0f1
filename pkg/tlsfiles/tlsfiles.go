// Package tlsfiles configures TLS from files: mutual TLS between services, and TLS to stores. CAs, certificates and
// keys are read again when they change, so that a rotation needs no restart. Without files connections are not
// encrypted, which is meant for a single machine.
package tlsfiles

import (
	"crypto/tls"
	"errors"
	"fmt"
)

// Config names the files. Nest it with envPrefix "TLS_". (A name that ends in _FILE would be read as a secret's file.)
type Config struct {
	CA   string `env:"CA" danger:": calls between services are not encrypted, and one known secret is all services"` // the CAs that may sign the peer's certificate
	Cert string `env:"CERT"`                                                                                         // this process's certificate, valid for servers and clients
	Key  string `env:"KEY"`
}

// Enabled reports whether connections are encrypted.
func (c Config) Enabled() bool { return c != Config{} }

// NeededBy returns an error that names setting if it is on and c names no files.
func (c Config) NeededBy(setting string, on bool) error {
	if on && !c.Enabled() {
		return fmt.Errorf("%s is true without a certificate: set TLS_CA, TLS_CERT and TLS_KEY", setting)
	}
	return nil
}

// Certificate returns the certificate for HTTP listeners, which require none from clients.
func (c Config) Certificate() Certificate { return Certificate{c.Cert, c.Key} }

// Client returns a function that returns the TLS configuration for the next connection to another service's HTTP
// listener, or nil without files.
func (c Config) Client() func() (*tls.Config, error) {
	return Client{Enabled: c.Enabled(), CA: c.CA, Cert: c.Cert, Key: c.Key}.Configuration()
}

// Validate returns an error if files are missing or invalid.
func (c *Config) Validate() error {
	if !c.Enabled() {
		return nil
	}
	if c.CA == "" || c.Cert == "" || c.Key == "" {
		return errors.New("TLS_CA, TLS_CERT and TLS_KEY belong together: set all of them or none")
	}
	_, err := load(files(*c))
	return err
}
