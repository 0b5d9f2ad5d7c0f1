package idempotency

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/labplatform/labplatform/pkg/apperr"
	"github.com/labplatform/labplatform/pkg/authn"
)

// ErrRunning is returned when the same request is still being executed at the caller's deadline. Its kind is
// Unavailable, not Conflict, because clients and the task queue's webhooks repeat unavailable requests.
var ErrRunning = apperr.New(apperr.Unavailable, "IDEMPOTENCY_KEY_IN_USE",
	"the first request with this idempotency key is still being executed: repeat the request in a few seconds").
	WithRetryAfter(retryAfter)

var errNoCache = apperr.New(apperr.Unavailable, "IDEMPOTENCY_UNAVAILABLE",
	"The cache of idempotency keys cannot be asked right now, so nothing was done. Try again in a moment.").
	WithRetryAfter(retryAfter)

var errManyKeys = apperr.Newf(apperr.TooManyRequests, "IDEMPOTENCY_KEYS_EXHAUSTED",
	"This login used more than %d idempotency keys within an hour. Use one key for all repetitions of a request.", maxKeys).
	WithRetryAfter(time.Minute)

const (
	retryAfter = 2 * time.Second
	pollEvery  = 50 * time.Millisecond
	// These limits keep the cache, which also stores the sessions, from filling up: maxKept is the largest stored response
	// in bytes, and maxKeys the number of keys of a login within keysWindow. Services may use any number of keys.
	maxKept    = 64 << 10
	maxKeys    = 20_000
	keysWindow = time.Hour
)

// Responses keeps responses in the cache, for requests whose change and response have no common transaction. When a
// process dies between the two, or the cache loses its data, the request is executed again when it is repeated. Table
// has no such gap.
type Responses struct {
	client redis.UniversalClient
	prefix string
}

// NewResponses returns the responses of one service.
func NewResponses(client redis.UniversalClient, service string) *Responses {
	return &Responses{client, "idempotency:" + service + ":"}
}

// An entry begins with its state and the hash of the request.
const (
	running = 'r' // followed by a random number of the execution
	done    = 'd' // followed by the response
	head    = 1 + sha256.Size
)

// finish replaces the entry of this execution by its response, or deletes it after a failure. It does nothing when
// another execution has claimed the key. The response of an execution that took longer than its lease is stored, too.
var finish = redis.NewScript(`
local entry = redis.call('GET', KEYS[1])
if entry and entry ~= ARGV[1] then return 0 end
if ARGV[2] == '' then return redis.call('DEL', KEYS[1]) end
redis.call('SET', KEYS[1], ARGV[2], 'PX', ARGV[3])
return 1`)

// Once executes work unless the request was executed before, and returns its response; replayed is true for a stored
// response. A response that is nil or larger than 64 KiB is not stored. A repeated request waits for the running one,
// which counts as dead after lease. An error of storing the response is not returned, because the request was executed.
func (r *Responses) Once(ctx context.Context, lab int64, request Request, lease time.Duration,
	work func() ([]byte, error)) (response []byte, replayed bool, err error) {
	if request.Key == "" {
		return nil, false, ErrKeyInvalid
	}
	if err := CheckKey(request.Key); err != nil {
		return nil, false, err
	}
	key := fmt.Sprintf("%s%d:%x", r.prefix, lab, keyOf(request.Actor, request.Login+" "+request.Key))
	hash := request.hash()
	own := fmt.Sprintf("%c%s%x", running, hash[:], rand.Uint64())
	before, err := r.claim(ctx, key, own, lease)
	if before != "" {
		return []byte(before[head:]), true, nil
	}
	entry := ""
	defer func() { // also after a panic, and after a claim whose response was lost
		ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
		defer cancel()
		_ = finish.Run(ending, r.client, []string{key}, own, entry, KeyAge.Milliseconds()).Err() // on error the lease expires
	}()
	if err == nil {
		err = r.count(ctx, lab, request)
	}
	if err != nil {
		return nil, false, err
	}
	if response, err = work(); err == nil && response != nil && len(response) <= maxKept {
		entry = fmt.Sprintf("%c%s%s", done, hash[:], response)
	}
	return response, false, err
}

// increment counts and sets the end of the window in one step. If a process died between two steps, the counter would
// never expire and the login could never use a key again.
var increment = redis.NewScript(`
local n = redis.call('INCR', KEYS[1])
if n == 1 then redis.call('PEXPIRE', KEYS[1], ARGV[1]) end
return n`)

// count returns an error if the login has claimed keys more than maxKeys times in the window.
func (r *Responses) count(ctx context.Context, lab int64, request Request) error {
	if request.Actor.Kind == authn.ActorPlatform {
		return nil
	}
	key := fmt.Sprintf("%s%d:used:%x", r.prefix, lab, keyOf(request.Actor, request.Login))
	n, err := increment.Run(ctx, r.client, []string{key}, keysWindow.Milliseconds()).Int()
	switch {
	case err != nil:
		return errNoCache.WithCause(fmt.Errorf("count idempotency keys: %w", err))
	case n > maxKeys:
		return errManyKeys
	}
	return nil
}

// claim stores own as the entry of the key, or waits for the same request and returns its entry.
func (r *Responses) claim(ctx context.Context, key, own string, lease time.Duration) (before string, err error) {
	for {
		claimed, err := r.client.SetNX(ctx, key, own, lease).Result()
		if err == nil && !claimed {
			before, err = r.client.Get(ctx, key).Result()
		}
		switch {
		case claimed, before == own: // own entry: the client repeated a command whose response was lost
			return "", nil
		case errors.Is(err, redis.Nil): // the other execution has failed meanwhile
			continue
		case ctx.Err() != nil:
			return "", ErrRunning
		case err != nil:
			return "", errNoCache.WithCause(fmt.Errorf("claim idempotency key: %w", err))
		case len(before) < head || before[1:head] != own[1:head]:
			return "", ErrKeyReused
		case before[0] == done:
			return before, nil
		}
		select {
		case <-ctx.Done():
			return "", ErrRunning
		case <-time.After(pollEvery):
		}
	}
}
