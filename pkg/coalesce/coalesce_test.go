package coalesce_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/labplatform/labplatform/pkg/coalesce"
)

// library is a slow data source that changes during reads.
type library struct {
	mu      sync.Mutex
	version int     // guarded by mu
	reads   [][]int // guarded by mu: the items of each read, sorted
}

func (l *library) read(ctx context.Context, items []int) (int, error) {
	l.mu.Lock()
	l.reads = append(l.reads, slices.Sorted(slices.Values(items)))
	version := l.version
	l.mu.Unlock()
	select {
	case <-ctx.Done():
		return 0, ctx.Err()
	case <-time.After(time.Second):
		return version, nil
	}
}

// seen waits until every goroutine is blocked or finished, and returns the items of each read.
func (l *library) seen() string {
	synctest.Wait()
	l.mu.Lock()
	defer l.mu.Unlock()
	return fmt.Sprint(l.reads)
}

func (l *library) write() {
	l.mu.Lock()
	l.version++
	l.mu.Unlock()
}

func TestCallersDuringAReadShareTheNextAndSeeEarlierWrites(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var reads coalesce.Reads[string, int, int]
		var l library
		var all sync.WaitGroup
		ask := func(item, want int) {
			all.Go(func() {
				if got, err := reads.Do(t.Context(), "lab 12", item, l.read); got != want || err != nil {
					t.Errorf("item %d: version = %d, error %v, want %d", item, got, err, want)
				}
			})
			synctest.Wait()
		}
		ask(1, 0)
		l.write()
		for item := 2; item <= 20; item++ {
			ask(item, 1)
		}
		all.Wait()
		ask(21, 1) // nothing is cached
		all.Wait()
		if got := l.seen(); got != "[[1] [2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20] [21]]" {
			t.Errorf("items of the reads = %s, want 1, then 2 to 20 together, then 21", got)
		}
	})
}

func TestKeysDoNotWaitForEachOther(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var reads coalesce.Reads[int, int, int]
		var l library
		start := time.Now()
		var all sync.WaitGroup
		for lab := range 20 {
			all.Go(func() { _, _ = reads.Do(t.Context(), lab, lab, l.read) })
		}
		all.Wait()
		if took := time.Since(start); took != time.Second {
			t.Errorf("reads of %s took %v, want 1s", l.seen(), took)
		}
	})
}

func TestCanceledCallerDoesNotEndTheReadOfOthers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var reads coalesce.Reads[string, int, int]
		var l library
		ctx, leave := context.WithCancel(t.Context())
		ended := make(chan error, 2)
		go func() { _, err := reads.Do(ctx, "", 1, l.read); ended <- err }()
		synctest.Wait()
		go func() { _, err := reads.Do(ctx, "", 2, l.read); ended <- err }()
		synctest.Wait()
		leave()
		for range 2 {
			if err := <-ended; !errors.Is(err, context.Canceled) {
				t.Errorf("canceled caller: error = %v, want Canceled", err)
			}
		}
		if _, err := reads.Do(t.Context(), "", 3, l.read); err != nil {
			t.Errorf("remaining caller: error = %v, want nil", err)
		}
		late, done := context.WithTimeout(t.Context(), time.Millisecond)
		defer done()
		if _, err := reads.Do(late, "", 4, l.read); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("caller without time: error = %v, want DeadlineExceeded", err)
		}
		if got := l.seen(); got != "[[1] [2 3] [4]]" {
			t.Errorf("items of the reads = %s, want [[1] [2 3] [4]]", got)
		}
	})
}

func TestErrorsAndPanicsReachEveryCaller(t *testing.T) {
	t.Parallel()
	var reads coalesce.Reads[string, int, int]
	broken := errors.New("broken")
	_, err := reads.Do(t.Context(), "", 1, func(context.Context, []int) (int, error) { return 0, broken })
	if !errors.Is(err, broken) {
		t.Errorf("error = %v, want that of the read", err)
	}
	func() {
		defer func() {
			if recover() != "a bug" {
				t.Error("the caller did not panic, want the read's panic")
			}
		}()
		_, _ = reads.Do(t.Context(), "", 1, func(context.Context, []int) (int, error) { panic("a bug") })
	}()
	if got, err := reads.Do(t.Context(), "", 1, func(context.Context, []int) (int, error) { return 7, nil }); got != 7 || err != nil {
		t.Errorf("read after the panic = %d, %v, want 7, nil", got, err)
	}
}
