package redisdb_test

import (
	"strconv"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/labplatform/labplatform/pkg/config"
	"github.com/labplatform/labplatform/pkg/redisdb"
	"github.com/labplatform/labplatform/pkg/testkit/await"
	"github.com/labplatform/labplatform/pkg/testkit/certificates"
	"github.com/labplatform/labplatform/pkg/testkit/freeport"
	"github.com/labplatform/labplatform/pkg/testkit/netfault"
	"github.com/labplatform/labplatform/pkg/testkit/redistest"
	"github.com/labplatform/labplatform/pkg/tlsfiles"
)

// A command after a closed idle connection must succeed. Over TLS the client does not notice the closing before its
// next command, which the queue does not repeat. All times in this test are a hundredth of the real ones.
func TestAClosedIdleConnectionFailsNoCommand(t *testing.T) {
	t.Parallel()
	ca := certificates.Made(t, "ca")
	files := ca.Member(t, t.TempDir(), time.Now().Add(time.Hour), ca)
	server, port := redistest.Start(t), freeport.One(t)
	encrypt(t, server, files, port)
	link, err := netfault.Listen()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(link.Close)
	link.CloseIdle(600 * time.Millisecond) // as a load balancer does after a minute
	link.Serve("127.0.0.1:" + strconv.Itoa(port))
	options := redisdb.Options(redisdb.Config{Host: "127.0.0.1", Port: link.Port(), ConnectionType: "standalone",
		TLS: tlsfiles.Client{Enabled: true, CA: files.CA, Cert: files.Cert, Key: files.Key}})
	options.MaxRetries = -1
	options.ConnMaxIdleTime /= 100
	client := redis.NewUniversalClient(options)
	t.Cleanup(func() { _ = client.Close() })
	for range 3 {
		if err := client.Ping(t.Context()).Err(); err != nil {
			t.Fatalf("the first command after the end of the idle connections: %v", err)
		}
		await.True(t, "the end of the idle connections", func() bool { return link.Connections() == 0 })
	}
}

func TestEveryClientClosesIdleConnections(t *testing.T) {
	t.Parallel()
	for _, address := range []config.Secret{"redis://localhost:7001", "rediss://localhost:7001?addr=localhost:7002"} {
		client, err := redisdb.OpenURL(address)
		if err != nil {
			t.Fatal(err)
		}
		var idle time.Duration
		switch c := client.(type) {
		case *redis.Client:
			idle = c.Options().ConnMaxIdleTime
		case *redis.ClusterClient:
			idle = c.Options().ConnMaxIdleTime
		}
		if want := redisdb.Options(redisdb.Config{}).ConnMaxIdleTime; idle != want {
			t.Errorf("%s closes connections after %v, want %v", address.Reveal(), idle, want)
		}
		_ = client.Close()
	}
}
