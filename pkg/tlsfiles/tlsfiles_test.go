package tlsfiles_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health"
	healthv1 "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"

	"github.com/labplatform/labplatform/pkg/tlsfiles"
)

type authority struct {
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
}

func newAuthority(t *testing.T, name string) authority {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name}, IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageCertSign, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	certificate, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return authority{certificate, key}
}

func write(t *testing.T, path, kind string, der []byte) {
	t.Helper()
	if err := os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600); err != nil {
		t.Fatal(err)
	}
}

// issue writes the files of a member of a, which trusts trusted.
func (a authority) issue(t *testing.T, folder string, trusted authority, until time.Time) tlsfiles.Config {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.CreateCertificate(rand.Reader, &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: "rerun"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		NotBefore: time.Now().Add(-2 * time.Hour), NotAfter: until, KeyUsage: x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}, a.certificate, &key.PublicKey, a.key)
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	c := tlsfiles.Config{CA: filepath.Join(folder, "ca"), Cert: filepath.Join(folder, "cert"), Key: filepath.Join(folder, "key")}
	write(t, c.CA, "CERTIFICATE", trusted.certificate.Raw)
	write(t, c.Key, "PRIVATE KEY", private)
	write(t, c.Cert, "CERTIFICATE", der)
	// Another time than before, also on file systems that count in seconds.
	stamp := time.Now().Add(time.Duration(time.Now().UnixNano() % int64(time.Hour)))
	for _, path := range []string{c.CA, c.Cert, c.Key} {
		if err := os.Chtimes(path, stamp, stamp); err != nil {
			t.Fatal(err)
		}
	}
	return c
}

func serve(t *testing.T, c tlsfiles.Config) (address string) {
	t.Helper()
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := grpc.NewServer(grpc.Creds(c.Credentials()))
	healthv1.RegisterHealthServer(server, health.NewServer())
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(server.Stop)
	return listener.Addr().String()
}

func call(t *testing.T, address string, option grpc.DialOption) error {
	t.Helper()
	conn, err := grpc.NewClient(address, option)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	_, err = healthv1.NewHealthClient(conn).Check(ctx, &healthv1.HealthCheckRequest{})
	return err
}

func secured(c tlsfiles.Config) grpc.DialOption {
	return grpc.WithTransportCredentials(c.Credentials())
}

func TestOnlyMembersOfTheAuthorityTalk(t *testing.T) {
	t.Parallel()
	ours, theirs := newAuthority(t, "ours"), newAuthority(t, "theirs")
	soon, over := time.Now().Add(time.Hour), time.Now().Add(-time.Minute)
	good := ours.issue(t, t.TempDir(), ours, soon)
	cases := map[string]struct {
		server tlsfiles.Config
		client grpc.DialOption
		fine   bool
	}{
		"both of ours":              {good, secured(ours.issue(t, t.TempDir(), ours, soon)), true},
		"a client of others":        {good, secured(theirs.issue(t, t.TempDir(), ours, soon)), false},
		"a server of others":        {theirs.issue(t, t.TempDir(), ours, soon), secured(good), false},
		"a client that is expired":  {good, secured(ours.issue(t, t.TempDir(), ours, over)), false},
		"a server that is expired":  {ours.issue(t, t.TempDir(), ours, over), secured(good), false},
		"a client without any file": {good, grpc.WithTransportCredentials(insecure.NewCredentials()), false},
	}
	for name, c := range cases {
		err := call(t, serve(t, c.server), c.client)
		if (err == nil) != c.fine || (!c.fine && status.Code(err) != codes.Unavailable) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestRotatedFilesAreUsedWithoutARestart(t *testing.T) {
	t.Parallel()
	before, after := newAuthority(t, "before"), newAuthority(t, "after")
	soon := time.Now().Add(time.Hour)
	folder := t.TempDir()
	address := serve(t, before.issue(t, folder, before, soon))
	first := secured(before.issue(t, t.TempDir(), before, soon))
	if err := call(t, address, first); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(folder, "key")); err != nil {
		t.Fatal(err)
	}
	if err := call(t, address, first); err != nil {
		t.Errorf("in the middle of a rotation: %v", err)
	}
	after.issue(t, folder, after, soon)
	if err := call(t, address, secured(after.issue(t, t.TempDir(), after, soon))); err != nil {
		t.Errorf("after the rotation: %v", err)
	}
	if err := call(t, address, first); err == nil {
		t.Error("the old authority is still trusted")
	}
}

func TestHalfAConfigurationIsRefused(t *testing.T) {
	t.Parallel()
	good := newAuthority(t, "ours").issue(t, t.TempDir(), newAuthority(t, "ours"), time.Now().Add(time.Hour))
	empty := filepath.Join(t.TempDir(), "empty")
	write(t, empty, "NOTHING", nil)
	for want, c := range map[string]tlsfiles.Config{
		"belong together": {CA: good.CA, Cert: good.Cert}, "TLS_CA": {CA: empty, Cert: good.Cert, Key: good.Key},
		"TLS_CERT": {CA: good.CA, Cert: good.Cert, Key: good.CA}, "no such file": {CA: "/nowhere", Cert: good.Cert, Key: good.Key},
	} {
		if err := c.Validate(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", want, err)
		}
	}
	if err := good.Validate(); err != nil {
		t.Error(err)
	}
	if none := (tlsfiles.Config{}); none.Enabled() || none.Validate() != nil {
		t.Error("no file at all is plain")
	}
}
