// Package await lets tests wait for a real engine or another process. Waiting in the platform's own code is tested with
// virtual time (testing/synctest) instead.
package await

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/labplatform/labplatform/pkg/lifecycle"
)

const (
	// limit is long enough for a heavily loaded machine, so that reaching it never means that the machine is slow.
	limit        = 3 * time.Minute
	firstPause   = 10 * time.Millisecond
	longestPause = 200 * time.Millisecond
)

var errFalse = errors.New("the condition is still false")

// Nil calls check until it returns nil, with pauses that grow from 10 to 200 ms. After three minutes, or when t's
// context ends, it fails t with what and the last error. In a cleanup, where that context has ended, only the three
// minutes apply. It must be called from the test's goroutine, like Fatal.
func Nil(t testing.TB, what string, check func() error) {
	t.Helper()
	ctx := t.Context()
	if ctx.Err() != nil {
		ctx = context.WithoutCancel(ctx)
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	for pause := firstPause; ; pause = min(pause+pause/2, longestPause) {
		err := check()
		if err == nil {
			return
		}
		if lifecycle.Pause(ctx, pause) != nil {
			t.Fatalf("%s did not happen within %v: %v", what, limit, err)
		}
	}
}

// True waits like Nil until check returns true.
func True(t testing.TB, what string, check func() bool) {
	t.Helper()
	Nil(t, what, func() error {
		if check() {
			return nil
		}
		return errFalse
	})
}
