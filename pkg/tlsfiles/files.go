package tlsfiles

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"os"
	"sync"
	"time"
)

// files holds the paths of PEM files; an empty path is not used.
type files struct{ CA, Cert, Key string }

// material holds the parsed content of the files, and the stamps by which a change of a file is detected.
type material struct {
	roots        *x509.CertPool    // nil: the system's
	certificates []tls.Certificate // this process's certificate, or none
	stamps       [3]stamp
}

type stamp struct {
	modified time.Time
	size     int64
}

func (f files) stamps() (found [3]stamp, err error) {
	for i, path := range []string{f.CA, f.Cert, f.Key} {
		if path == "" {
			continue
		}
		info, err := os.Stat(path)
		if err != nil {
			return found, fmt.Errorf("read TLS files: %w", err)
		}
		found[i] = stamp{info.ModTime(), info.Size()}
	}
	return found, nil
}

func load(f files) (*material, error) {
	found, err := f.stamps()
	if err != nil {
		return nil, err
	}
	m := &material{stamps: found}
	if f.CA != "" {
		authorities, err := os.ReadFile(f.CA)
		if err != nil {
			return nil, fmt.Errorf("read TLS files: %w", err)
		}
		m.roots = x509.NewCertPool()
		if !m.roots.AppendCertsFromPEM(authorities) {
			return nil, fmt.Errorf("TLS_CA: %s contains no PEM certificate", f.CA)
		}
	}
	if f.Cert != "" {
		certificate, err := tls.LoadX509KeyPair(f.Cert, f.Key)
		if err != nil {
			return nil, fmt.Errorf("TLS_CERT and TLS_KEY: %w", err)
		}
		m.certificates = []tls.Certificate{certificate}
	}
	return m, nil
}

// reader caches the last valid content of the files, so that connections made during a rotation do not fail. It is safe
// for concurrent use.
type reader struct {
	files files

	mu   sync.Mutex
	last *material // guarded by mu
}

func (r *reader) current() (*material, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.last != nil {
		if found, err := r.files.stamps(); err != nil || found == r.last.stamps {
			return r.last, nil // unchanged, or a rotation in progress
		}
	}
	fresh, err := load(r.files)
	switch {
	case err == nil:
		r.last = fresh
	case r.last == nil:
		return nil, err
	}
	return r.last, nil
}
