// Package tlsfiles owns encrypted connections: mutual TLS between services, and TLS to stores. Authorities,
// certificates and keys are files, read again when they change, so that rotating them needs no restart. Without
// configuration everything is plain, for one machine.
package tlsfiles

import (
	"crypto/tls"
	"errors"
	"fmt"
)

// Config names the files; nest it with envPrefix "TLS_". (A name that ends in _FILE would be read as a secret.)
type Config struct {
	CA   string `env:"CA"`   // who may sign the other side's certificate
	Cert string `env:"CERT"` // our own, valid for servers and clients
	Key  string `env:"KEY"`
}

// Enabled reports whether connections are encrypted.
func (c Config) Enabled() bool { return c != Config{} }

// NeededBy refuses a setting that encrypts with the files while there are none.
func (c Config) NeededBy(setting string, on bool) error {
	if on && !c.Enabled() {
		return fmt.Errorf("%s is true without a certificate: set TLS_CA, TLS_CERT and TLS_KEY", setting)
	}
	return nil
}

// Certificate is what the listeners for HTTP show; they ask for none.
func (c Config) Certificate() Certificate { return Certificate{c.Cert, c.Key} }

// Client returns how to get the TLS configuration of the connection to another service's HTTP listener that is made
// next, nil when there are no files.
func (c Config) Client() func() (*tls.Config, error) {
	return Client{Enabled: c.Enabled(), CA: c.CA, Cert: c.Cert, Key: c.Key}.Configuration()
}

// Validate refuses one file without the others, and files that cannot be used.
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
