package tlsfiles

import (
	"crypto/tls"
	"errors"
)

// Client holds the TLS settings of connections to a store. Nest it without an envPrefix of its own, so that its
// variables are DB_TLS, DB_TLS_CA and so on.
type Client struct {
	Enabled bool   `env:"TLS" envDefault:"false" danger:"false: connections to this store are not encrypted"`
	CA      string `env:"TLS_CA"`   // file of the CAs that may sign the server's certificate; empty: the system's
	Cert    string `env:"TLS_CERT"` // file of the client's certificate, for servers that require one
	Key     string `env:"TLS_KEY"`
}

// Validate returns an error for files that are unused, incomplete or invalid.
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

// Configuration returns a function that returns the TLS configuration for the next connection, from the current content
// of the files. The function is nil if TLS is not enabled.
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
