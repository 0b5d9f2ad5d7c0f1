package taskqueue

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"

	"github.com/redis/go-redis/v9"

	"github.com/labplatform/labplatform/scripts/bench/internal/process"
)

// server is a private redis-server with the given fsync policy: "always", "everysec", or "off" for no append-only file.
type server struct {
	*process.Process
	address string
	client  *redis.Client
	dir     string
}

func startServer(ctx context.Context, fsync string) (*server, error) {
	dir, err := os.MkdirTemp("", "labbench")
	if err != nil {
		return nil, err
	}
	port, err := process.FreePort()
	if err != nil {
		return nil, err
	}
	address := fmt.Sprintf("127.0.0.1:%d", port)
	argv := []string{
		"redis-server", "--bind", "127.0.0.1", "--port", strconv.Itoa(port), "--dir", dir, "--save", "",
		"--maxmemory-policy", "noeviction", "--logfile", filepath.Join(dir, "redis.log"),
	}
	if fsync != "off" {
		argv = append(argv, "--appendonly", "yes", "--appendfsync", fsync)
	}
	p, err := process.Start(ctx, address, nil, argv...)
	if err != nil {
		return nil, err
	}
	return &server{Process: p, address: address, client: redis.NewClient(&redis.Options{Addr: address}), dir: dir}, nil
}

func (s *server) stop() {
	_ = s.client.Close()
	s.Stop()
	_ = os.RemoveAll(s.dir)
}

// wipe empties the server, so that all runs start with the same state.
func (s *server) wipe(ctx context.Context) error {
	if err := s.client.FlushAll(ctx).Err(); err != nil {
		return fmt.Errorf("wipe redis: %w", err)
	}
	return s.client.Do(ctx, "MEMORY", "PURGE").Err()
}

var (
	cpuLine    = regexp.MustCompile(`used_cpu_(?:user|sys):([0-9.]+)`)
	memoryLine = regexp.MustCompile(`used_memory:([0-9]+)`)
)

// cpu returns the server's CPU time in seconds since its start.
func (s *server) cpu(ctx context.Context) (float64, error) { return s.sum(ctx, "cpu", cpuLine) }

// memory returns the size of the server's data in bytes.
func (s *server) memory(ctx context.Context) (float64, error) {
	return s.sum(ctx, "memory", memoryLine)
}

func (s *server) sum(ctx context.Context, section string, line *regexp.Regexp) (float64, error) {
	info, err := s.client.Info(ctx, section).Result()
	if err != nil {
		return 0, fmt.Errorf("ask redis: %w", err)
	}
	total := 0.0
	for _, found := range line.FindAllStringSubmatch(info, -1) {
		value, err := strconv.ParseFloat(found[1], 64)
		if err != nil {
			return 0, err
		}
		total += value
	}
	return total, nil
}
