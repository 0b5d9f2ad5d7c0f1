package taskqueue

import (
	"context"
	"fmt"
	"os"
	"sync/atomic"
	"syscall"
	"time"
	"unsafe"
)

// tally counts the runs of each job in a memory-mapped file: it survives a SIGKILL of its writer, and several processes
// may write.
type tally struct {
	counts []uint32 // one per job number, behind the total at index 0
	data   []byte
	// patience is how long await waits without progress.
	patience time.Duration
}

func openTally(path string, jobs int) (*tally, error) {
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open tally: %w", err)
	}
	defer file.Close()
	size := 4 * (jobs + 1)
	if err := file.Truncate(int64(size)); err != nil {
		return nil, fmt.Errorf("open tally: %w", err)
	}
	data, err := syscall.Mmap(int(file.Fd()), 0, size, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_SHARED)
	if err != nil {
		return nil, fmt.Errorf("map tally: %w", err)
	}
	return &tally{
		counts:   unsafe.Slice((*uint32)(unsafe.Pointer(&data[0])), jobs+1),
		data:     data,
		patience: time.Minute,
	}, nil
}

func (t *tally) close() { _ = syscall.Munmap(t.data) }

// add counts one run of a job.
func (t *tally) add(job int) {
	if atomic.AddUint32(&t.counts[job+1], 1) == 1 {
		atomic.AddUint32(&t.counts[0], 1)
	}
}

func (t *tally) distinct() int { return int(atomic.LoadUint32(&t.counts[0])) }

// verdict returns the numbers of jobs that never ran and that ran more than once.
func (t *tally) verdict() (lost, duplicates int) {
	for i := range t.counts[1:] {
		switch n := atomic.LoadUint32(&t.counts[i+1]); {
		case n == 0:
			lost++
		case n > 1:
			duplicates++
		}
	}
	return lost, duplicates
}

// await returns when want different jobs have run, or an error after too long without progress.
func (t *tally) await(ctx context.Context, want int) error {
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	last, moved := t.distinct(), time.Now()
	for {
		now := t.distinct()
		if now >= want {
			return nil
		}
		if now != last {
			last, moved = now, time.Now()
		}
		if time.Since(moved) > t.patience {
			return fmt.Errorf("%d of %d jobs ran, then none for %v", now, want, t.patience)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
	}
}
