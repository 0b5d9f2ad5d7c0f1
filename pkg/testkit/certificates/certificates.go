// Package certificates creates certificate authorities (CAs) for tests, and the certificate files of their members.
package certificates

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"
)

// Authority is a CA.
type Authority struct {
	// Names are host names that its members' certificates contain in addition to localhost.
	Names []string

	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
}

// Files holds the paths of one member's PEM files.
type Files struct{ CA, Cert, Key string }

// In returns the paths of a member's files in folder, whether or not they exist.
func In(folder string) Files {
	return Files{
		CA:   filepath.Join(folder, "ca.pem"),
		Cert: filepath.Join(folder, "cert.pem"),
		Key:  filepath.Join(folder, "key.pem"),
	}
}

// New creates a CA. name is its common name.
func New(name string) (*Authority, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("create the CA's key: %w", err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name}, IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageCertSign, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().AddDate(1, 0, 0),
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		return nil, fmt.Errorf("sign the CA: %w", err)
	}
	certificate, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, fmt.Errorf("parse the CA: %w", err)
	}
	return &Authority{certificate: certificate, key: key}, nil
}

// Issue writes the files of a member of a. Its certificate is for 127.0.0.1, localhost and a's names, and valid until
// the given time; it trusts the given CAs. Existing files are replaced, as in a rotation.
func (a *Authority) Issue(folder string, until time.Time, trusted ...*Authority) (Files, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return Files{}, fmt.Errorf("create a member's key: %w", err)
	}
	der, err := x509.CreateCertificate(rand.Reader, &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: "member"},
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, DNSNames: append([]string{"localhost"}, a.Names...),
		NotBefore: time.Now().Add(-2 * time.Hour), NotAfter: until, KeyUsage: x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}, a.certificate, &key.PublicKey, a.key)
	if err != nil {
		return Files{}, fmt.Errorf("sign a member: %w", err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return Files{}, fmt.Errorf("encode a member's key: %w", err)
	}
	var roots []byte
	for _, t := range trusted {
		roots = append(roots, encode("CERTIFICATE", t.certificate.Raw)...)
	}
	files := In(folder)
	return files, errors.Join(
		write(files.CA, roots),
		write(files.Key, encode("PRIVATE KEY", private)),
		write(files.Cert, encode("CERTIFICATE", der)),
	)
}

func encode(kind string, der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})
}

// write replaces a file atomically, with a unique modification time even on file systems with a resolution of one
// second.
func write(path string, content []byte) error {
	next := path + ".new"
	if err := os.WriteFile(next, content, 0o600); err != nil {
		return fmt.Errorf("write %s: %w", filepath.Base(path), err)
	}
	stamp := time.Now().Add(time.Duration(time.Now().UnixNano() % int64(time.Hour)))
	return errors.Join(os.Chtimes(next, stamp, stamp), os.Rename(next, path))
}
