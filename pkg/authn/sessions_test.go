package authn_test

import (
	"context"
	"io"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/labplatform/labplatform/pkg/apperr"
	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/pkg/clock"
	"github.com/labplatform/labplatform/pkg/redisdb"
)

func TestHangingCacheIsUnavailableBeforeTheCallTimesOut(t *testing.T) {
	t.Parallel()
	for _, connection := range []string{"standalone", "cluster"} {
		synctest.Test(t, func(t *testing.T) {
			options := redisdb.Options(redisdb.Config{Host: "127.0.0.1", Port: 1, ConnectionType: connection})
			options.Dialer = func(context.Context, string, string) (net.Conn, error) {
				ours, theirs := net.Pipe()
				go func() { _, _ = io.Copy(io.Discard, theirs) }() // reads every command and never responds
				return ours, nil
			}
			client := redis.NewUniversalClient(options)
			defer client.Close()
			a := authn.NewAuthenticator(authn.Config{SessionCookieAgeSeconds: 28800}, authn.NewRedisSessions(client), "rerun", clock.Fixed(now))

			begin := time.Now()
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
			defer cancel()
			_, err := a.Authenticate(ctx, authn.Credentials{Cookie: "sessionid=asha"})
			if took := time.Since(begin); !apperr.Is(err, apperr.Unavailable) || took > 2100*time.Millisecond {
				t.Errorf("%s: error %v after %v, want Unavailable within 2.1s", connection, err, took)
			}

			begin = time.Now()
			hurried, cancelHurried := context.WithTimeout(t.Context(), 500*time.Millisecond)
			defer cancelHurried()
			_, err = a.Authenticate(hurried, authn.Credentials{Cookie: "sessionid=asha"})
			if took := time.Since(begin); apperr.Is(err, apperr.Unavailable) || err == nil || took > 600*time.Millisecond {
				t.Errorf("%s, caller with 500ms: error %v after %v, want another error than Unavailable within 600ms", connection, err, took)
			}
		})
	}
}
