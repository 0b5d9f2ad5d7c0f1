package consume

import (
	"cmp"
	"slices"
	"sync"
	"time"

	"github.com/labplatform/labplatform/pkg/clock"
	"github.com/labplatform/labplatform/services/cdc/internal/change"
	"github.com/labplatform/labplatform/services/cdc/internal/outcome"
)

// Status is the state of the claimed partitions.
type Status struct {
	clock clock.Clock

	mu          sync.Mutex
	partitions  map[key]*partition // guarded by mu
	lastSuccess time.Time          // guarded by mu; zero before the first success
	paused      time.Duration      // guarded by mu; total duration of past faults
}

type key struct {
	topic     string
	partition int32
}

type partition struct {
	status *Status
	claim  Claim
	// the fields below are guarded by status.mu
	next    int64     // offset of the first unfinished record; negative when unknown
	batch   time.Time // start of the current batch; zero when none is in progress
	fault   *outcome.Fault
	faulted time.Time
}

func newStatus(c clock.Clock) *Status {
	return &Status{clock: c, partitions: map[key]*partition{}}
}

func (s *Status) open(c Claim) *partition {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := &partition{status: s, claim: c, next: c.Initial}
	s.partitions[key{c.Topic, c.Partition}] = p
	return p
}

func (s *Status) close(c Claim) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if p := s.partitions[key{c.Topic, c.Partition}]; p != nil && p.fault != nil {
		s.paused += s.clock.Now().Sub(p.faulted) // count the fault up to now, even if another process gets the partition
	}
	delete(s.partitions, key{c.Topic, c.Partition})
}

func (p *partition) started(first change.Record) {
	p.status.mu.Lock()
	defer p.status.mu.Unlock()
	p.batch = p.status.clock.Now()
	if p.next < 0 {
		p.next = first.Offset
	}
}

func (p *partition) finished(last change.Record) {
	p.status.mu.Lock()
	defer p.status.mu.Unlock()
	p.batch, p.next = time.Time{}, last.Offset+1
	p.status.lastSuccess = p.status.clock.Now()
}

// fail records a fault. It reports whether it is new or of another kind than the previous one.
func (p *partition) fail(f *outcome.Fault) bool {
	p.status.mu.Lock()
	defer p.status.mu.Unlock()
	news := p.fault == nil || p.fault.Operator != f.Operator
	if p.fault == nil {
		p.faulted = p.status.clock.Now()
	}
	p.fault = f
	return news
}

// heal ends the fault and returns its duration. It returns false if there was none.
func (p *partition) heal() (time.Duration, bool) {
	p.status.mu.Lock()
	defer p.status.mu.Unlock()
	if p.fault == nil {
		return 0, false
	}
	lasted := p.status.clock.Now().Sub(p.faulted)
	p.status.paused += lasted
	p.fault = nil
	return lasted, true
}

// Partition is a snapshot of one claimed partition.
type Partition struct {
	Topic     string
	Partition int32
	Lag       int64          // unfinished records
	Busy      time.Duration  // duration of the current batch, faults included; 0 when idle
	Fault     *outcome.Fault // cause of the pause; nil if not paused
}

// Partitions returns the claimed partitions, sorted.
func (s *Status) Partitions() []Partition {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.clock.Now()
	all := make([]Partition, 0, len(s.partitions))
	for k, p := range s.partitions {
		one := Partition{Topic: k.topic, Partition: k.partition, Lag: p.lag(), Fault: p.fault}
		if !p.batch.IsZero() {
			one.Busy = now.Sub(p.batch)
		}
		all = append(all, one)
	}
	slices.SortFunc(all, func(a, b Partition) int {
		return cmp.Or(cmp.Compare(a.Topic, b.Topic), cmp.Compare(a.Partition, b.Partition))
	})
	return all
}

// lag returns the number of unfinished records. Before the first record it is 0 if the offset to start at is unknown.
func (p *partition) lag() int64 {
	if p.next < 0 {
		return 0
	}
	return max(0, p.claim.HighWater()-p.next)
}

// LastSuccess returns when a batch was last finished; zero before the first.
func (s *Status) LastSuccess() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.lastSuccess
}

// Paused returns the total duration of pauses of all partitions, current faults included.
func (s *Status) Paused() time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	total, now := s.paused, s.clock.Now()
	for _, p := range s.partitions {
		if p.fault != nil {
			total += now.Sub(p.faulted)
		}
	}
	return total
}
