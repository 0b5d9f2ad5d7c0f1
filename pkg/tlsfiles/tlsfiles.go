// Package tlsfiles owns encrypted connections: mutual TLS between services, and TLS to stores. Authorities,
// certificates and keys are files, read again when they change, so that rotating them needs no restart. Without
// configuration everything is plain, for one machine.
package tlsfiles

import (
	"errors"
)

// Config names the files; nest it with envPrefix "TLS_". (A name that ends in _FILE would be read as a secret.)
type Config struct {
	CA   string `env:"CA"`   // who may sign the other side's certificate
	Cert string `env:"CERT"` // our own, valid for servers and clients
	Key  string `env:"KEY"`
}

// Enabled reports whether connections are encrypted.
func (c Config) Enabled() bool { return c != Config{} }

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
