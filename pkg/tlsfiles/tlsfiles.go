// Package tlsfiles owns mutual TLS between services: a CA, a certificate and a key in files, read again when they
// change, so that rotating them needs no restart. Without files everything is plain, for one machine.
package tlsfiles

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"
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
	_, err := load(*c)
	return err
}

// material is what one reading of the files gave.
type material struct {
	roots       *x509.CertPool
	certificate tls.Certificate
	stamps      [3]stamp
}

type stamp struct {
	modified time.Time
	size     int64
}

func (c Config) paths() [3]string { return [3]string{c.CA, c.Cert, c.Key} }

func stamps(c Config) (found [3]stamp, err error) {
	for i, path := range c.paths() {
		info, err := os.Stat(path)
		if err != nil {
			return found, fmt.Errorf("read TLS files: %w", err)
		}
		found[i] = stamp{info.ModTime(), info.Size()}
	}
	return found, nil
}

func load(c Config) (*material, error) {
	found, err := stamps(c)
	if err != nil {
		return nil, err
	}
	m := &material{roots: x509.NewCertPool(), stamps: found}
	authorities, err := os.ReadFile(c.CA)
	if err != nil {
		return nil, fmt.Errorf("read TLS files: %w", err)
	}
	if !m.roots.AppendCertsFromPEM(authorities) {
		return nil, fmt.Errorf("TLS_CA: %s holds no certificate in PEM form", c.CA)
	}
	if m.certificate, err = tls.LoadX509KeyPair(c.Cert, c.Key); err != nil {
		return nil, fmt.Errorf("TLS_CERT and TLS_KEY: %w", err)
	}
	return m, nil
}

// files remembers the last good reading: a rotation seen half-way must not cut the connections that come meanwhile.
type files struct {
	config Config

	mu   sync.Mutex
	last *material // guarded by mu
}

func (f *files) current() (*material, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.last != nil {
		if found, err := stamps(f.config); err != nil || found == f.last.stamps {
			return f.last, nil // a rotation in progress
		}
	}
	fresh, err := load(f.config)
	switch {
	case err == nil:
		f.last = fresh
	case f.last == nil:
		return nil, err
	}
	return f.last, nil
}
