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

// ErrRunning is returned to a request while the same request is being executed and does not end in time. It is no
// conflict: clients, and the task queue's webhooks, repeat what is unavailable.
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
	// The cache also has the sessions, so it must not fill: maxKept are the bytes of a response that is stored,
	// and maxKeys the keys of a login within keysWindow. Services have no such limit.
	maxKept    = 64 << 10
	maxKeys    = 20_000
	keysWindow = time.Hour
)

// Responses keeps responses in the cache, for requests whose change and response have no common transaction. A process
// that dies between the two, or a cache that loses its data, leaves the request unknown: it is executed again when it
// is repeated. Table has no such gap.
type Responses struct {
	client redis.UniversalClient
	prefix string
}

// NewResponses returns the responses of one service.
func NewResponses(client redis.UniversalClient, service string) *Responses {
	return &Responses{client, "idempotency:" + service + ":"}
}

// Entries begin with their state and the hash of the request.
const (
	running = 'r' // then a number of the execution
	done    = 'd' // then the response
	head    = 1 + sha256.Size
)

// finish replaces the entry of this execution, or deletes it, unless another execution has followed. An execution that
// took longer than its lease is stored, too.
var finish = redis.NewScript(`
local entry = redis.call('GET', KEYS[1])
if entry and entry ~= ARGV[1] then return 0 end
if ARGV[2] == '' then return redis.call('DEL', KEYS[1]) end
redis.call('SET', KEYS[1], ARGV[2], 'PX', ARGV[3])
return 1`)

// Once executes work unless the request was executed before, and returns its response; replayed reports that the
// response is a stored one. A response of work that is nil or larger than 64 KiB is not stored. A second request waits
// for the first, which is taken for dead after lease. The error of a failed write of the response is not returned: the
// request was executed.
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
	defer func() { // also after a panic, and after a claim whose answer was lost
		ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
		defer cancel()
		_ = finish.Run(ending, r.client, []string{key}, own, entry, KeyAge.Milliseconds()).Err() // else the lease ends it
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

// increment counts in one step with the end of the window: a process that dies between two would leave a login
// without keys for ever.
var increment = redis.NewScript(`
local n = redis.call('INCR', KEYS[1])
if n == 1 then redis.call('PEXPIRE', KEYS[1], ARGV[1]) end
return n`)

// count limits the keys of a login.
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

// claim writes own as the entry, or returns the entry of the same request when that has ended.
func (r *Responses) claim(ctx context.Context, key, own string, lease time.Duration) (before string, err error) {
	for {
		claimed, err := r.client.SetNX(ctx, key, own, lease).Result()
		if err == nil && !claimed {
			before, err = r.client.Get(ctx, key).Result()
		}
		switch {
		case claimed, before == own: // the client repeats a command whose answer was lost
			return "", nil
		case errors.Is(err, redis.Nil): // its execution has failed meanwhile
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
