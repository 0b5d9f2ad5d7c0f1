// Package await owns how tests wait for what a real engine or another process does in its own time. Our own code's
// waiting is tested with virtual time (testing/synctest) instead.
package await

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/labplatform/labplatform/pkg/lifecycle"
)

const (
	// limit is long enough for a machine that does ten other things: reaching it is never a statement about speed.
	limit        = 3 * time.Minute
	firstPause   = 10 * time.Millisecond
	longestPause = 200 * time.Millisecond
)

// errNotSo is what a condition says that does not hold.
var errNotSo = errors.New("it is not so yet")

// Nil calls check until it returns nil, with pauses that grow from 10 to 200 ms. After three minutes, or when t's
// context ends, it fails t with what and the last error. In a cleanup, where that context has ended, it has the three
// minutes. It belongs to the test's goroutine, as every Fatal does.
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

// True calls check until it reports true, as Nil does.
func True(t testing.TB, what string, check func() bool) {
	t.Helper()
	Nil(t, what, func() error {
		if check() {
			return nil
		}
		return errNotSo
	})
}
