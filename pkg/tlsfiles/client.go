package tlsfiles

import (
	"crypto/tls"
	"errors"
)

// Client says how connections to a store are encrypted; nest it without a prefix of its own, so that its variables are
// DB_TLS, DB_TLS_CA and so on.
type Client struct {
	Enabled bool   `env:"TLS" envDefault:"false"`
	CA      string `env:"TLS_CA"`   // who may sign the server's certificate; empty: the system's authorities
	Cert    string `env:"TLS_CERT"` // our own, for servers that ask for one
	Key     string `env:"TLS_KEY"`
}

// Validate refuses files that nothing would use, one of a pair, and files that cannot be used.
func (c *Client) Validate() error {
	used := files{c.CA, c.Cert, c.Key}
	switch {
	case !c.Enabled && used != files{}:
		return errors.New("TLS_CA, TLS_CERT and TLS_KEY have no effect without TLS: set TLS to true or remove them")
	case (c.Cert == "") != (c.Key == ""):
		return errors.New("TLS_CERT and TLS_KEY belong together: set both of them or none")
	case !c.Enabled:
		return nil
	}
	_, err := load(used)
	return err
}

// Configuration returns how to get the TLS configuration of the connection that is made next: from the files as they
// are then. It is nil when connections are plain.
func (c Client) Configuration() func() (*tls.Config, error) {
	if !c.Enabled {
		return nil
	}
	r := &reader{files: files{c.CA, c.Cert, c.Key}}
	return func() (*tls.Config, error) {
		m, err := r.current()
		if err != nil {
			return nil, err
		}
		return &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: m.roots, Certificates: m.certificates}, nil
	}
}
