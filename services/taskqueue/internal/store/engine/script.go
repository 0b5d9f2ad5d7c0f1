package engine

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"net"
	"path"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/labplatform/labplatform/pkg/lifecycle"
	"github.com/labplatform/labplatform/services/taskqueue/internal/job"
)

//go:embed scripts/*.lua
var scriptFiles embed.FS

//go:embed prelude.lua
var prelude string

//go:embed lives.lua
var lives string

// scripts maps names to Lua scripts. Each consists of the first line of its file, which holds its flags, the shared
// code (prelude.lua, and lives.lua if the script uses its keys), and the rest of the file.
var scripts = func() map[string]*redis.Script {
	all := map[string]*redis.Script{}
	files, _ := scriptFiles.ReadDir("scripts") // embedded files can always be read
	for _, file := range files {
		text, _ := scriptFiles.ReadFile(path.Join("scripts", file.Name()))
		flags, script, _ := strings.Cut(string(text), "\n")
		shared := prelude
		if strings.Contains(script, "\n-- KEYS: those of lives") {
			shared += lives
		}
		all[strings.TrimSuffix(file.Name(), ".lua")] = redis.NewScript(flags + "\n" + shared + script)
	}
	return all
}()

// Load loads all scripts into Redis. It is called on connecting, and again after a NOSCRIPT error.
func (r *Redis) Load(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, r.set.CallTimeout)
	defer cancel()
	for name, script := range scripts {
		if err := script.Load(ctx, r.rdb).Err(); err != nil {
			return fmt.Errorf("load script %s: %w", name, err)
		}
	}
	return nil
}

// run executes a script once.
func (r *Redis) run(ctx context.Context, name string, keys []string, args []any) (any, error) {
	return r.loaded(ctx, name, func(ctx context.Context) (any, error) {
		return scripts[name].EvalSha(ctx, r.rdb, keys, args...).Result()
	})
}

// loaded executes a script. After NOSCRIPT, caused by a restart or failover of Redis, it loads all scripts and executes
// it again.
func (r *Redis) loaded(ctx context.Context, name string, run func(context.Context) (any, error)) (any, error) {
	ctx, cancel := context.WithTimeout(ctx, r.set.CallTimeout)
	defer cancel()
	reply, err := run(ctx)
	if err != nil && redis.HasErrorPrefix(err, "NOSCRIPT") {
		if err = r.Load(ctx); err != nil {
			return nil, err
		}
		reply, err = run(ctx)
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

// repeat executes an idempotent script, up to three times while the outcome is unknown and ctx has not ended.
func (r *Redis) repeat(ctx context.Context, name string, keys []string, args []any) (any, error) {
	return r.again(ctx, func() (any, error) { return r.run(ctx, name, keys, args) })
}

func (r *Redis) again(ctx context.Context, run func() (any, error)) (any, error) {
	for try := 1; ; try++ {
		reply, err := run()
		if err == nil || try == repeats || !indeterminate(err) || ctx.Err() != nil {
			return reply, err
		}
		if waitErr := lifecycle.Pause(ctx, repeatPause<<try); waitErr != nil {
			return nil, err
		}
	}
}

// indeterminate reports whether err is temporary or leaves open whether the script ran.
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

// list executes an idempotent script that returns a list of head fields followed by records of each fields. Other
// replies are errors.
func (r *Redis) list(ctx context.Context, name string, keys []string, args []any, head, each int) ([]any, error) {
	reply, err := r.repeat(ctx, name, keys, args)
	if err != nil {
		return nil, err
	}
	return listOf(name, reply, head, each)
}

func listOf(name string, reply any, head, each int) ([]any, error) {
	parts, ok := reply.([]any)
	rest := len(parts) - head
	if !ok || rest < 0 || rest > 0 && (each == 0 || rest%each != 0) {
		return nil, fmt.Errorf("script %s answered %T, which this version does not understand", name, reply)
	}
	return parts, nil
}

// answers executes an idempotent script that returns one number for each of n jobs.
func answers[T ~int](ctx context.Context, r *Redis, name string, keys []string, args []any, n int) ([]T, error) {
	parts, err := r.list(ctx, name, keys, args, n, 0)
	if err != nil {
		return nil, err
	}
	list := make([]T, n)
	for i := range list {
		list[i] = T(number(parts[i]))
	}
	return list, nil
}

// manageBatch is how many jobs one script call reads or ends, which takes Redis one or two milliseconds.
const manageBatch = 100

// inBatches calls ask for the jobs of each shard, at most manageBatch at a time, and returns the results in the order
// of the jobs. ask may process only the first jobs of a batch, but at least one. After an error, some jobs may have
// been processed.
func inBatches[J, A any](jobs []J, id func(*J) job.ID, ask func(k shardKeys, batch []J) ([]A, error)) ([]A, error) {
	all := make([]A, len(jobs))
	shards := map[int][]int{}
	for i := range jobs {
		shard := id(&jobs[i]).Shard()
		shards[shard] = append(shards[shard], i)
	}
	for shard, at := range shards {
		for len(at) > 0 {
			batch := make([]J, min(manageBatch, len(at)))
			for i := range batch {
				batch[i] = jobs[at[i]]
			}
			some, err := ask(keysOf(shard), batch)
			for i := range some {
				all[at[i]] = some[i]
			}
			if err != nil {
				return all, err
			}
			at = at[len(some):]
		}
	}
	return all, nil
}

func number(v any) int64 {
	n, _ := v.(int64)
	return n
}

func text(v any) string {
	s, _ := v.(string)
	return s
}
