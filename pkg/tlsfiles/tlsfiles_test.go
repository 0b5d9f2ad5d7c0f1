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

func newAuthority(t *testing.T, name string) *certificates.Authority {
	t.Helper()
	a, err := certificates.New(name)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// issue writes the files of a member of a, which trusts trusted.
func issue(t *testing.T, a *certificates.Authority, folder string, trusted *certificates.Authority, until time.Time) tlsfiles.Config {
	t.Helper()
	files, err := a.Issue(folder, until, trusted)
	if err != nil {
		t.Fatal(err)
	}
	return tlsfiles.Config(files)
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
	good := issue(t, ours, t.TempDir(), ours, soon)
	cases := map[string]struct {
		server tlsfiles.Config
		client grpc.DialOption
		fine   bool
	}{
		"both of ours":              {good, secured(issue(t, ours, t.TempDir(), ours, soon)), true},
		"a client of others":        {good, secured(issue(t, theirs, t.TempDir(), ours, soon)), false},
		"a server of others":        {issue(t, theirs, t.TempDir(), ours, soon), secured(good), false},
		"a client that is expired":  {good, secured(issue(t, ours, t.TempDir(), ours, over)), false},
		"a server that is expired":  {issue(t, ours, t.TempDir(), ours, over), secured(good), false},
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
	address := serve(t, issue(t, before, folder, before, soon))
	first := secured(issue(t, before, t.TempDir(), before, soon))
	if err := call(t, address, first); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(certificates.In(folder).Key); err != nil {
		t.Fatal(err)
	}
	if err := call(t, address, first); err != nil {
		t.Errorf("in the middle of a rotation: %v", err)
	}
	issue(t, after, folder, after, soon)
	if err := call(t, address, secured(issue(t, after, t.TempDir(), after, soon))); err != nil {
		t.Errorf("after the rotation: %v", err)
	}
	if err := call(t, address, first); err == nil {
		t.Error("the old authority is still trusted")
	}
}

func TestHalfAConfigurationIsRefused(t *testing.T) {
	t.Parallel()
	good := issue(t, newAuthority(t, "ours"), t.TempDir(), newAuthority(t, "ours"), time.Now().Add(time.Hour))
	empty := filepath.Join(t.TempDir(), "empty")
	if err := os.WriteFile(empty, []byte("-----BEGIN NOTHING-----\n-----END NOTHING-----\n"), 0o600); err != nil {
		t.Fatal(err)
	}
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
