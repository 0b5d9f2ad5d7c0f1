package redisdb_test

import (
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/labplatform/labplatform/pkg/config"
	"github.com/labplatform/labplatform/pkg/redisdb"
	"github.com/labplatform/labplatform/pkg/testkit/redistest"
)

func TestURLOpensOneNodeOrACluster(t *testing.T) {
	t.Parallel()
	cases := []struct {
		url     config.Secret
		cluster bool
	}{
		{"redis://localhost:7001", false},
		{"redis://user:secret@localhost:7001/2", false},
		{"rediss://localhost:7001", false},
		{"redis://localhost:7001?addr=localhost:7002", true},
		{"rediss://user:secret@localhost:7001?addr=localhost:7002&addr=localhost:7003", true},
	}
	for _, c := range cases {
		client, err := redisdb.OpenURL(c.url)
		if err != nil {
			t.Errorf("OpenURL(%s): %v", c.url.Reveal(), err)
			continue
		}
		if _, cluster := client.(*redis.ClusterClient); cluster != c.cluster {
			t.Errorf("OpenURL(%s) = %T, cluster should be %t", c.url.Reveal(), client, c.cluster)
		}
		_ = client.Close()
	}
}

func TestInvalidURLIsRefusedWithoutItsPassword(t *testing.T) {
	t.Parallel()
	for _, address := range []config.Secret{"", "localhost:7001", "http://u:geheim@localhost", "redis://u:geheim@localhost:port", "redis://u:geheim@localhost/x", "redis://u:geheim@h:1?addr=h:2&colour=red"} {
		if err := redisdb.CheckURL(address); err == nil || strings.Contains(err.Error(), "geheim") {
			t.Errorf("CheckURL(%s) = %v, want an error without the password", address.Reveal(), err)
		}
	}
}

func TestClientOfAURLReachesItsServer(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	client, err := redisdb.OpenURL(config.Secret("redis://" + server.Addr))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	if err := client.Ping(t.Context()).Err(); err != nil {
		t.Fatal(err)
	}
}
