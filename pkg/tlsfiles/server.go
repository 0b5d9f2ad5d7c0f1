package tlsfiles

import (
	"crypto/tls"
	"errors"
)

// Certificate names the files of what a listener shows; nest it with an envPrefix that ends in "TLS_".
type Certificate struct {
	Cert string `env:"CERT"`
	Key  string `env:"KEY"`
}

// Validate refuses one file without the other, and files that cannot be used.
func (c *Certificate) Validate() error {
	if *c == (Certificate{}) {
		return nil
	}
	if c.Cert == "" || c.Key == "" {
		return errors.New("a certificate and its key belong together: set both of them or none")
	}
	_, err := load(files{Cert: c.Cert, Key: c.Key})
	return err
}

// Server returns the configuration of a listener for HTTP, nil when there are no files. Each handshake uses the files
// as they are then.
func (c Certificate) Server() *tls.Config {
	if c == (Certificate{}) {
		return nil
	}
	r := &reader{files: files{Cert: c.Cert, Key: c.Key}}
	return &tls.Config{
		MinVersion: tls.VersionTLS12,
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) {
			m, err := r.current()
			if err != nil {
				return nil, err
			}
			return &m.certificates[0], nil
		},
	}
}
