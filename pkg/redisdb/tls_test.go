package redisdb_test

import (
	"strconv"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/labplatform/labplatform/pkg/redisdb"
	"github.com/labplatform/labplatform/pkg/testkit/certificates"
	"github.com/labplatform/labplatform/pkg/testkit/freeport"
	"github.com/labplatform/labplatform/pkg/testkit/redistest"
	"github.com/labplatform/labplatform/pkg/tlsfiles"
)

// encrypt makes the server accept TLS on another port with the files of member; a second call rotates them. Clients
// must present certificates.
func encrypt(t *testing.T, server *redistest.Server, member certificates.Files, port int) {
	t.Helper()
	arguments := []any{"CONFIG", "SET", "tls-ca-cert-file", member.CA, "tls-cert-file", member.Cert, "tls-key-file", member.Key,
		"tls-port", strconv.Itoa(port)}
	if err := server.Client().Do(t.Context(), arguments...).Err(); err != nil {
		t.Fatal(err)
	}
}

func open(t *testing.T, port int, secure tlsfiles.Client) redis.UniversalClient {
	t.Helper()
	client, err := redisdb.Open(redisdb.Config{Host: "127.0.0.1", Port: port, ConnectionType: "standalone", TLS: secure}, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Close() })
	return client
}

func TestTLSRequiresCertificatesOfTheSameCA(t *testing.T) {
	t.Parallel()
	ours, theirs := certificates.Made(t, "ours"), certificates.Made(t, "theirs")
	soon, over := time.Now().Add(time.Hour), time.Now().Add(-time.Minute)
	server, port := redistest.Start(t), freeport.One(t)
	encrypt(t, server, ours.Member(t, t.TempDir(), soon, ours), port)
	member := ours.Member(t, t.TempDir(), soon, ours)
	cases := map[string]struct {
		files certificates.Files
		fine  bool
	}{
		"certificate of the CA":        {member, true},
		"client with another CA":       {ours.Member(t, t.TempDir(), soon, theirs), false},
		"client with the system's CAs": {certificates.Files{Cert: member.Cert, Key: member.Key}, false},
		"certificate of another CA":    {theirs.Member(t, t.TempDir(), soon, ours), false},
		"expired certificate":          {ours.Member(t, t.TempDir(), over, ours), false},
		"no certificate":               {certificates.Files{CA: member.CA}, false},
	}
	for name, c := range cases {
		client := open(t, port, tlsfiles.Client{Enabled: true, CA: c.files.CA, Cert: c.files.Cert, Key: c.files.Key})
		if err := client.Ping(t.Context()).Err(); (err == nil) != c.fine {
			t.Errorf("%s: error = %v, success should be %t", name, err, c.fine)
		}
	}
	if err := open(t, port, tlsfiles.Client{}).Ping(t.Context()).Err(); err == nil {
		t.Error("Ping over a plain connection to the TLS port = nil, want an error")
	}
}

func TestRotatedCertificatesNeedNoRestart(t *testing.T) {
	t.Parallel()
	before, after := certificates.Made(t, "before"), certificates.Made(t, "after")
	soon := time.Now().Add(time.Hour)
	server, port, folder := redistest.Start(t), freeport.One(t), t.TempDir()
	encrypt(t, server, before.Member(t, t.TempDir(), soon, before), port)
	files := before.Member(t, folder, soon, before)
	client := open(t, port, tlsfiles.Client{Enabled: true, CA: files.CA, Cert: files.Cert, Key: files.Key})
	if err := client.Ping(t.Context()).Err(); err != nil {
		t.Fatal(err)
	}
	encrypt(t, server, after.Member(t, t.TempDir(), soon, after), port)
	if err := server.Client().ClientKillByFilter(t.Context(), "TYPE", "normal").Err(); err != nil {
		t.Fatal(err)
	}
	if err := client.Ping(t.Context()).Err(); err == nil {
		t.Error("Ping = nil before the client has the new CA, want an error")
	}
	after.Member(t, folder, soon, after)
	if err := client.Ping(t.Context()).Err(); err != nil {
		t.Errorf("Ping after the rotation: %v, want success", err)
	}
}
