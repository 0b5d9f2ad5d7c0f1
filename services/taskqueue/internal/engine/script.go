package engine

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"path"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

//go:embed scripts/*.lua
var scriptFiles embed.FS

//go:embed prelude.lua
var prelude string

func readScripts() (map[string]*redis.Script, error) {
	files, err := fs.Glob(scriptFiles, "scripts/*.lua")
	if err != nil {
		return nil, fmt.Errorf("list scripts: %w", err)
	}
	scripts := make(map[string]*redis.Script, len(files))
	for _, file := range files {
		text, err := scriptFiles.ReadFile(file)
		if err != nil {
			return nil, fmt.Errorf("read script %s: %w", file, err)
		}
		scripts[strings.TrimSuffix(path.Base(file), ".lua")] = redis.NewScript(withPrelude(string(text)))
	}
	return scripts, nil
}

// withPrelude puts the prelude after the line that declares a script's flags.
func withPrelude(script string) string {
	flags, rest, _ := strings.Cut(script, "\n")
	return flags + "\n" + prelude + rest
}

// Load puts every script into Redis. Serve calls it when it connects; a NOSCRIPT answer repeats it.
func (r *Redis) Load(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, r.timeout)
	defer cancel()
	for name, script := range r.scripts {
		if err := script.Load(ctx, r.rdb).Err(); err != nil {
			return fmt.Errorf("load script %s: %w", name, err)
		}
	}
	return nil
}

// run executes a script once; NOSCRIPT (a restarted or failed-over Redis) loads all of them and repeats.
func (r *Redis) run(ctx context.Context, name string, keys []string, args []any) (any, error) {
	ctx, cancel := context.WithTimeout(ctx, r.timeout)
	defer cancel()
	reply, err := r.scripts[name].EvalSha(ctx, r.rdb, keys, args...).Result()
	if err != nil && redis.HasErrorPrefix(err, "NOSCRIPT") {
		if err = r.Load(ctx); err != nil {
			return nil, err
		}
		reply, err = r.scripts[name].EvalSha(ctx, r.rdb, keys, args...).Result()
	}
	if err != nil {
		return nil, fmt.Errorf("run script %s: %w", name, err)
	}
	return reply, nil
}

const (
	repeats     = 3
	repeatPause = 20 * time.Millisecond
)

// repeat runs a script that is safe to repeat again when its outcome is not known, within ctx.
func (r *Redis) repeat(ctx context.Context, name string, keys []string, args []any) (any, error) {
	return r.again(ctx, func() (any, error) { return r.run(ctx, name, keys, args) })
}

func (r *Redis) again(ctx context.Context, run func() (any, error)) (any, error) {
	for try := 1; ; try++ {
		reply, err := run()
		if err == nil || try == repeats || !indeterminate(err) || ctx.Err() != nil {
			return reply, err
		}
		if waitErr := r.pause(ctx, repeatPause<<try); waitErr != nil {
			return nil, err
		}
	}
}

// indeterminate reports an error after which the script may or may not have run.
func indeterminate(err error) bool {
	var answered redis.Error
	if errors.As(err, &answered) && !errors.Is(err, redis.Nil) {
		text := answered.Error()
		return strings.HasPrefix(text, "LOADING") || strings.HasPrefix(text, "TRYAGAIN") ||
			strings.HasPrefix(text, "CLUSTERDOWN") || strings.HasPrefix(text, "READONLY")
	}
	var network net.Error
	return errors.As(err, &network) || !errors.Is(err, context.Canceled)
}

func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}

// answers runs a script that is safe to repeat and answers with a number for each of n jobs.
func answers[T ~int](ctx context.Context, r *Redis, name string, keys []string, args []any, n int) ([]T, error) {
	reply, err := r.repeat(ctx, name, keys, args)
	if err != nil {
		return nil, err
	}
	parts, ok := reply.([]any)
	if !ok || len(parts) != n {
		return nil, errReply(name, reply)
	}
	list := make([]T, n)
	for i := range parts {
		list[i] = T(number(parts[i]))
	}
	return list, nil
}
