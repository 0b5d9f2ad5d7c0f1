package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/redis/go-redis/v9"
)

// Keys is the pattern that matches every Redis key of the queue.
const Keys = "tq:*"

// commands are the Redis commands used by the engine, its scripts, the mailbox, the rate limits and the copies of rows,
// each with its minimum arguments. The check of rights does not execute them. CONFIG GET is not in the list, because
// CheckContract reports what cannot be checked without it.
var commands = []string{
	"set KEY 0", "incr KEY", "incrby KEY 1", "get KEY", "mget KEY", "mset KEY 0", "strlen KEY", "exists KEY", "del KEY",
	"unlink KEY", "expire KEY 60", "pexpire KEY 60", "pexpireat KEY 60",
	"hset KEY f v", "hsetnx KEY f v", "hget KEY f", "hmget KEY f", "hgetall KEY", "hdel KEY f", "hexists KEY f",
	"hincrby KEY f 1", "hlen KEY", "hscan KEY 0",
	"lpush KEY v", "rpush KEY v", "llen KEY", "lrange KEY 0 0", "ltrim KEY 0 0", "blpop KEY 1",
	"zadd KEY 1 m", "zcard KEY", "zcount KEY 0 1", "zscore KEY m", "zmscore KEY m", "zrank KEY m", "zrange KEY 0 0",
	"zrevrange KEY 0 0", "zrem KEY m", "zremrangebyrank KEY 0 0", "zremrangebyscore KEY 0 0", "zscan KEY 0",
	"ping", "time", "info server", "wait 0 1", "scan 0", "eval return 0", "evalsha hash 0", "script|load return", "multi",
	"exec",
}

func nameOfCommand(line string) string {
	name, _, _ := strings.Cut(line, " ")
	return name
}

// Rights returns the ACL rules of the queue's user in the form of `ACL SETUSER`. A cluster client also needs the
// commands that read the cluster's topology.
func Rights() []string {
	list := []string{"+config|get"}
	for _, line := range commands {
		list = append(list, "+"+nameOfCommand(line))
	}
	slices.Sort(list)
	return list
}

// MissingRights returns the rights that the queue's user lacks. The texts are for operators and end with the statement
// that grants the right.
func (r *Redis) MissingRights(ctx context.Context) ([]string, error) {
	ctx, cancel := context.WithTimeout(ctx, r.set.CallTimeout)
	defer cancel()
	asked := commands
	if r.set.WaitAOF {
		asked = slices.Concat(asked, []string{"waitaof 0 0 1"})
	}
	args := make([]any, len(asked))
	for i, line := range asked {
		args[i] = line
	}
	missing, err := scripts["rights"].Eval(ctx, r.rdb, keysOf(0).all("rights"), args...).StringSlice()
	switch {
	case err == nil:
		return r.lacks(missing), nil
	case redis.HasErrorPrefix(err, "NOPERM") && strings.Contains(err.Error(), "command"): // about a command, not a key
		return r.lacks([]string{"eval"}), nil
	case redis.HasErrorPrefix(err, "NOPERM"):
		const finding = "user %s of redis may not use the queue's keys: ACL SETUSER %[1]s ~%[2]s"
		return []string{fmt.Sprintf(finding, r.user, Keys)}, nil
	case answered(err): // this Redis cannot check rights; CheckContract reports versions that are too old
		return nil, nil
	}
	return nil, fmt.Errorf("ask redis what its user may do: %w", err)
}

func (r *Redis) lacks(missing []string) []string {
	if len(missing) == 0 {
		return nil
	}
	names := make([]string, len(missing))
	for i, line := range missing {
		names[i] = nameOfCommand(line)
	}
	return []string{fmt.Sprintf("user %s of redis may not run %s: ACL SETUSER %[1]s +%[3]s", r.user,
		strings.Join(names, ", "), strings.Join(names, " +"))}
}

// answered reports whether err was returned by Redis and is not temporary.
func answered(err error) bool {
	var said redis.Error
	return errors.As(err, &said) && !indeterminate(err)
}
