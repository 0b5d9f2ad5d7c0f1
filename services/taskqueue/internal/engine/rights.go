package engine

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

// Keys is the pattern of every key of the queue.
const Keys = "tq:*"

// probe is a command that the queue needs, with a call of it that changes nothing: the key is a short-lived text, so
// that commands of other types are refused for its type.
type probe struct {
	name string
	args []any
}

// probes lists what the engine, its scripts, the mailbox, the rates and the copies of secrets run. CONFIG GET is not
// among them: the contract says what is not known without it.
func probes(key string) []probe {
	k := func(name string, rest ...any) probe {
		return probe{name, append([]any{name, key}, rest...)}
	}
	soon := time.Minute.Milliseconds()
	return []probe{
		k("set", "0", "PX", soon), k("incr"), k("incrby", 1), k("get"), k("mget"), k("mset", "0"), k("strlen"), k("exists"),
		k("pexpireat", int64(1)<<42), k("expire", 60), k("pexpire", soon), // the last one counts
		k("hset", "f", "v"), k("hsetnx", "f", "v"), k("hget", "f"), k("hmget", "f"), k("hgetall"), k("hdel", "f"),
		k("hexists", "f"), k("hincrby", "f", 1), k("hlen"), k("hscan", 0),
		k("lpush", "v"), k("rpush", "v"), k("llen"), k("lrange", 0, 0), k("ltrim", 0, 0), k("blpop", 1),
		k("zadd", 1, "m"), k("zcard"), k("zcount", 0, 1), k("zscore", "m"), k("zmscore", "m"), k("zrank", "m"),
		k("zrange", 0, 0), k("zrevrange", 0, 0), k("zrem", "m"), k("zremrangebyrank", 0, 0),
		k("zremrangebyscore", 0, 0), k("zscan", 0),
		k("del"), k("unlink"),
		{"ping", []any{"ping"}}, {"time", []any{"time"}}, {"info", []any{"info", "server"}}, {"wait", []any{"wait", 0, 1}},
		{"scan", []any{"scan", 0, "COUNT", 1}},
		{"eval", []any{"eval", "return 1", 0}}, {"evalsha", []any{"evalsha", strings.Repeat("0", 40), 0}},
		{"script|load", []any{"script", "load", "return 1"}},
	}
}

// Rights are the commands of the ACL of the queue's user, as `ACL SETUSER` takes them. A cluster's client asks for the
// cluster's map besides.
func Rights() []string {
	list := []string{"+config|get", "+multi", "+exec"}
	for _, p := range probes("") {
		list = append(list, "+"+p.name)
	}
	slices.Sort(list)
	return list
}

// MissingRights tries every command that the queue runs, and says what the user may not, in words for operators that
// end with the statement that mends it.
func (r *Redis) MissingRights(ctx context.Context) ([]string, error) {
	ctx, cancel := context.WithTimeout(ctx, r.timeout)
	defer cancel()
	key := keysOf(0).the("probe:" + rand.Text()) // two processes that start must not take it from each other
	pipe := r.rdb.Pipeline()
	list := probes(key)
	if r.set.WaitAOF {
		list = append(list, probe{"waitaof", []any{"waitaof", 0, 0, 1}})
	}
	answers := make([]*redis.Cmd, len(list))
	for i, p := range list {
		answers[i] = pipe.Do(ctx, p.args...)
	}
	_, _ = pipe.Exec(ctx) // most of them fail; the answers tell how
	var commands []string
	keys := false
	for i, p := range list {
		switch err := answers[i].Err(); {
		case err == nil:
		case isMissingKey(err):
			keys = true
		case redis.HasErrorPrefix(err, "NOPERM"):
			commands = append(commands, p.name)
		case !answered(err):
			return nil, fmt.Errorf("ask redis what its user may do: %w", err)
		}
	}
	_, err := r.rdb.TxPipelined(ctx, func(p redis.Pipeliner) error { return p.Exists(ctx, key).Err() })
	if err != nil && redis.HasErrorPrefix(err, "NOPERM") && !isMissingKey(err) {
		commands = append(commands, "multi", "exec")
	}
	return r.lacks(commands, keys), nil
}

func (r *Redis) lacks(commands []string, keys bool) (findings []string) {
	user := r.user
	if user == "" {
		user = "default"
	}
	if len(commands) > 0 {
		findings = append(findings, fmt.Sprintf("user %s of redis may not run %s: ACL SETUSER %s +%s",
			user, strings.Join(commands, ", "), user, strings.Join(commands, " +")))
	}
	if keys {
		findings = append(findings, fmt.Sprintf("user %s of redis may not use the queue's keys: ACL SETUSER %s ~%s",
			user, user, Keys))
	}
	return findings
}

func isMissingKey(err error) bool {
	text := err.Error()
	return redis.HasErrorPrefix(err, "NOPERM") && strings.Contains(text, "key") && !strings.Contains(text, "command")
}

// answered reports an error that Redis itself gave, other than one that passes.
func answered(err error) bool {
	var said redis.Error
	return errors.As(err, &said) && !indeterminate(err)
}
