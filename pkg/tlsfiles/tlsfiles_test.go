package tlsfiles_test

import (
	"context"
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

	"github.com/labplatform/labplatform/pkg/testkit/certificates"
	"github.com/labplatform/labplatform/pkg/tlsfiles"
)

func serve(t *testing.T, files certificates.Files) (address string) {
	t.Helper()
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := grpc.NewServer(grpc.Creds(tlsfiles.Config(files).Credentials()))
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

func secured(files certificates.Files) grpc.DialOption {
	return grpc.WithTransportCredentials(tlsfiles.Config(files).Credentials())
}

func TestOnlyCertificatesOfTheCAConnect(t *testing.T) {
	t.Parallel()
	ours, theirs := certificates.Made(t, "ours"), certificates.Made(t, "theirs")
	soon, over := time.Now().Add(time.Hour), time.Now().Add(-time.Minute)
	good := ours.Member(t, t.TempDir(), soon, ours)
	cases := map[string]struct {
		server certificates.Files
		client grpc.DialOption
		fine   bool
	}{
		"both of the CA":       {good, secured(ours.Member(t, t.TempDir(), soon, ours)), true},
		"client of another CA": {good, secured(theirs.Member(t, t.TempDir(), soon, ours)), false},
		"server of another CA": {theirs.Member(t, t.TempDir(), soon, ours), secured(good), false},
		"expired client":       {good, secured(ours.Member(t, t.TempDir(), over, ours)), false},
		"expired server":       {ours.Member(t, t.TempDir(), over, ours), secured(good), false},
		"client without TLS":   {good, grpc.WithTransportCredentials(insecure.NewCredentials()), false},
	}
	for name, c := range cases {
		err := call(t, serve(t, c.server), c.client)
		if (err == nil) != c.fine || (!c.fine && status.Code(err) != codes.Unavailable) {
			t.Errorf("%s: error = %v, success should be %t", name, err, c.fine)
		}
	}
}

func TestRotatedFilesAreUsedWithoutARestart(t *testing.T) {
	t.Parallel()
	before, after := certificates.Made(t, "before"), certificates.Made(t, "after")
	soon := time.Now().Add(time.Hour)
	folder := t.TempDir()
	address := serve(t, before.Member(t, folder, soon, before))
	first := secured(before.Member(t, t.TempDir(), soon, before))
	if err := call(t, address, first); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(certificates.In(folder).Key); err != nil {
		t.Fatal(err)
	}
	if err := call(t, address, first); err != nil {
		t.Errorf("call during a rotation: %v, want success", err)
	}
	after.Member(t, folder, soon, after)
	if err := call(t, address, secured(after.Member(t, t.TempDir(), soon, after))); err != nil {
		t.Errorf("call after the rotation: %v, want success", err)
	}
	if err := call(t, address, first); err == nil {
		t.Error("call with the old CA = nil after the rotation, want an error")
	}
}

func TestIncompleteConfigurationIsRefused(t *testing.T) {
	t.Parallel()
	ours := certificates.Made(t, "ours")
	good := tlsfiles.Config(ours.Member(t, t.TempDir(), time.Now().Add(time.Hour), ours))
	empty := filepath.Join(t.TempDir(), "empty")
	if err := os.WriteFile(empty, []byte("-----BEGIN NOTHING-----\n-----END NOTHING-----\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for want, c := range map[string]tlsfiles.Config{
		"belong together": {CA: good.CA, Cert: good.Cert}, "TLS_CA": {CA: empty, Cert: good.Cert, Key: good.Key},
		"TLS_CERT": {CA: good.CA, Cert: good.Cert, Key: good.CA}, "no such file": {CA: "/nowhere", Cert: good.Cert, Key: good.Key},
	} {
		if err := c.Validate(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Validate = %v, want an error with %q", err, want)
		}
	}
	if err := good.Validate(); err != nil {
		t.Error(err)
	}
	if none := (tlsfiles.Config{}); none.Enabled() || none.Validate() != nil {
		t.Error("a Config without files is enabled or invalid, want neither")
	}
}
