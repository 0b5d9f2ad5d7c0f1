package engines

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"os"
	"strconv"

	"github.com/redis/go-redis/v9"

	"github.com/labplatform/labplatform/scripts/devstack/internal/install"
	"github.com/labplatform/labplatform/scripts/devstack/internal/process"
)

// Redis returns a private server that loses no write: append-only file, fsync at every write, no eviction.
func Redis(place Place) (Engine, error) {
	server, err := install.LookPath("redis-server")
	if err != nil {
		return Engine{}, err
	}
	args := []string{server, "--bind", "127.0.0.1", "--port", strconv.Itoa(place.Port), "--dir", place.Data, "--save", "",
		"--appendonly", "yes", "--appendfsync", "always", "--maxmemory-policy", "noeviction", "--daemonize", "no"}
	return Engine{
		Spec:    process.Spec{Name: "redis", Command: args, LogFile: place.Log},
		Prepare: func(context.Context) error { return os.MkdirAll(place.Data, 0o755) },
		Ready:   func(ctx context.Context) error { return pingRedis(ctx, "127.0.0.1:"+strconv.Itoa(place.Port)) },
	}, nil
}

// pingRedis writes the protocol itself, because a client library would log every attempt while the server starts.
func pingRedis(ctx context.Context, addr string) error {
	connection, err := (&net.Dialer{}).DialContext(ctx, "tcp", addr)
	if err != nil {
		return err
	}
	defer connection.Close()
	if deadline, ok := ctx.Deadline(); ok {
		_ = connection.SetDeadline(deadline)
	}
	if _, err := connection.Write([]byte("PING\r\n")); err != nil {
		return err
	}
	answer, err := bufio.NewReader(connection).ReadString('\n')
	if err == nil && answer != "+PONG\r\n" {
		err = fmt.Errorf("redis answers %q", answer) // the server is loading its data (-LOADING)
	}
	return err
}

// RedisKeepsEverything reports whether the server at addr has the settings of a durable queue: an append-only file with
// fsync always, and no eviction. It returns false when the settings cannot be read.
func RedisKeepsEverything(ctx context.Context, addr string) bool {
	client := redis.NewClient(&redis.Options{Addr: addr})
	defer func() { _ = client.Close() }()
	want := map[string]string{"appendonly": "yes", "appendfsync": "always", "maxmemory-policy": "noeviction"}
	for name, value := range want {
		got, err := client.ConfigGet(ctx, name).Result()
		if err != nil || got[name] != value {
			return false
		}
	}
	return true
}
