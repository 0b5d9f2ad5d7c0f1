package netguard_test

import (
	"context"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/labplatform/labplatform/pkg/httpserver"
	"github.com/labplatform/labplatform/pkg/netguard"
	"github.com/labplatform/labplatform/pkg/testkit/certificates"
	"github.com/labplatform/labplatform/pkg/tlsfiles"
)

// platform starts a service with the certificate of files; each response closes its connection.
func platform(t *testing.T, files tlsfiles.Config) (url string) {
	t.Helper()
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := httpserver.Server{
		Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(204) }),
		TLS:     files.Certificate().Server(), Draining: func() bool { return true },
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = server.Serve(ctx, listener)
	}()
	t.Cleanup(func() { stop(); <-ended })
	return "https://" + listener.Addr().String()
}

func TestTrustedClientTrustsOnlyTheCAOfItsFiles(t *testing.T) {
	t.Parallel()
	ours, theirs := certificates.Made(t, "ours"), certificates.Made(t, "theirs")
	until, folder := time.Now().Add(time.Hour), t.TempDir()
	server := tlsfiles.Config(ours.Member(t, folder, until, ours))
	client := tlsfiles.Config(ours.Member(t, t.TempDir(), until, ours))
	foreign := tlsfiles.Config(theirs.Member(t, t.TempDir(), until, theirs))
	url := platform(t, server)
	reach := func(files tlsfiles.Config) error {
		c, err := netguard.NewTrusted([]string{url}, netguard.Config{TLS: files.Client()})
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		_, err = do(t, c, url+"/x")
		return err
	}
	if err := reach(client); err != nil {
		t.Errorf("service of the same CA: %v, want success", err)
	}
	if err := reach(foreign); err == nil {
		t.Error("certificate of another CA was trusted, want an error")
	}
	if err := reach(tlsfiles.Config{}); err == nil {
		t.Error("certificate unknown to the system was trusted, want an error")
	}
	kept, err := netguard.NewTrusted([]string{url}, netguard.Config{TLS: client.Client()})
	if err != nil {
		t.Fatal(err)
	}
	defer kept.Close()
	next := certificates.Made(t, "next")
	for step, rotate := range []func(){
		func() {},
		func() { ours.Member(t, folderOf(client), until, ours, next) },
		func() { next.Member(t, folder, until, ours, next) },
		func() { next.Member(t, folderOf(client), until, next) },
	} {
		rotate()
		if _, err := do(t, kept, url+"/x"); err != nil {
			t.Errorf("step %d of a rotation: %v, want success", step, err)
		}
	}
}

func folderOf(files tlsfiles.Config) string {
	return strings.TrimSuffix(files.CA, string(os.PathSeparator)+"ca.pem")
}

func TestServerNameIsChecked(t *testing.T) {
	t.Parallel()
	ours := certificates.Made(t, "ours")
	files := tlsfiles.Config(ours.Member(t, t.TempDir(), time.Now().Add(time.Hour), ours))
	host := strings.Replace(strings.TrimPrefix(platform(t, files), "https://"), "127.0.0.1", "127.0.0.2", 1)
	url := "https://" + host
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", host)
	if err != nil {
		t.Fatal(err)
	}
	server := httpserver.Server{Handler: http.NotFoundHandler(), TLS: files.Certificate().Server()}
	go func() { _ = server.Serve(t.Context(), listener) }()
	client, err := netguard.NewTrusted([]string{url}, netguard.Config{TLS: files.Client()})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := do(t, client, url+"/x"); err == nil || !strings.Contains(err.Error(), "127.0.0.2") {
		t.Errorf("request to 127.0.0.2 with a certificate for 127.0.0.1: error = %v, want one that names 127.0.0.2", err)
	}
}
