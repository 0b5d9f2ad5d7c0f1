package engine

import (
	"context"
	"fmt"
	"time"
)

// processesKey holds what every process says of itself. It is shown to operators; nothing depends on it.
const (
	processesKey  = "tq:processes"
	keepProcesses = time.Hour
)

// Announce stores what a process says of itself.
func (r *Redis) Announce(ctx context.Context, process string, state []byte) error {
	ctx, cancel := context.WithTimeout(ctx, r.timeout)
	defer cancel()
	pipe := r.rdb.Pipeline()
	pipe.HSet(ctx, processesKey, process, state)
	pipe.Expire(ctx, processesKey, keepProcesses)
	if _, err := pipe.Exec(ctx); err != nil {
		return fmt.Errorf("announce the process: %w", err)
	}
	return nil
}

// Processes returns what the processes said last; some of them may be gone.
func (r *Redis) Processes(ctx context.Context) (map[string][]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, r.timeout)
	defer cancel()
	texts, err := r.rdb.HGetAll(ctx, processesKey).Result()
	if err != nil {
		return nil, fmt.Errorf("read the processes: %w", err)
	}
	list := make(map[string][]byte, len(texts))
	for name, text := range texts {
		list[name] = []byte(text)
	}
	return list, nil
}

// ForgetProcess removes what a process said that is gone.
func (r *Redis) ForgetProcess(ctx context.Context, process string) error {
	ctx, cancel := context.WithTimeout(ctx, r.timeout)
	defer cancel()
	if err := r.rdb.HDel(ctx, processesKey, process).Err(); err != nil {
		return fmt.Errorf("forget process %s: %w", process, err)
	}
	return nil
}
