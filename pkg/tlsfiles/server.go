package tlsfiles

import (
	"crypto/tls"
	"errors"
)

// Certificate names the files of a listener's certificate. Nest it with an envPrefix that ends in "TLS_".
type Certificate struct {
	Cert string `env:"CERT" danger:": the public listener is not encrypted, unless a proxy does it"`
	Key  string `env:"KEY"`
}

// Validate returns an error if one file is missing or the files are invalid.
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

// Server returns the TLS configuration of an HTTP listener, or nil without files. Each handshake uses the current
// content of the files.
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
