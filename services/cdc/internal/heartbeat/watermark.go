package heartbeat

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"
)

// Partition identifies a partition of a topic.
type Partition struct {
	Topic string
	ID    int32
}

// Extent is the range of offsets in a partition: Start is inclusive, End exclusive.
type Extent struct{ Start, End int64 }

// Positions returns the offsets of the brokers and of the consumer group. Errors are faults.
type Positions interface {
	// Extents returns the current range of offsets in each partition of topics.
	Extents(ctx context.Context, topics []string) (map[Partition]Extent, error)
	// Committed returns the offset of the first record that the group has not processed. Partitions without a commit are
	// missing from the map.
	Committed(ctx context.Context, partitions []Partition) (map[Partition]int64, error)
}

// Progress stores up to which time the consumer group has processed each connector's changes.
type Progress interface {
	// Applied records that all changes before a connector's heartbeat have been applied. An older heartbeat is ignored.
	Applied(ctx context.Context, connector string, beatAt time.Time) error
}

// Watermark records a heartbeat once all processes together have processed everything before it. Offer is safe for
// concurrent use; RunOnce is not.
type Watermark struct {
	positions Positions
	progress  Progress
	indexed   func(context.Context) (bool, error)
	topics    map[string][]string // topics with each connector's changes

	mu      sync.Mutex
	offered map[string]time.Time // guarded by mu; each connector's newest heartbeat that is not pending yet

	pending map[string]beat // used only by RunOnce
}

// beat is a pending heartbeat. It is recorded once the group has passed ends.
type beat struct {
	at   time.Time
	ends map[Partition]Extent
}

// NewWatermark returns a Watermark. topics maps each connector to the topics of its changes. indexed reports whether
// processed changes are also indexed; while it returns false, no heartbeat is recorded, because data that searches
// cannot find must not count as fresh.
func NewWatermark(
	positions Positions, progress Progress, indexed func(context.Context) (bool, error), topics map[string][]string,
) *Watermark {
	return &Watermark{positions: positions, progress: progress, indexed: indexed, topics: topics,
		offered: map[string]time.Time{}, pending: map[string]beat{}}
}

// Offer adds a heartbeat. Heartbeats of unknown connectors are ignored.
func (w *Watermark) Offer(connector string, at time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.topics[connector] != nil && at.After(w.offered[connector]) {
		w.offered[connector] = at
	}
}

// RunOnce makes offered heartbeats pending and records those before which everything is processed. A connector has one
// pending heartbeat at a time: if later ones replaced it, none would ever be recorded.
func (w *Watermark) RunOnce(ctx context.Context) error {
	if indexed, err := w.indexed(ctx); err != nil || !indexed {
		w.forget() // a pending heartbeat would not cover the changes that were not indexed
		return err
	}
	for connector, topics := range w.topics {
		if err := w.take(ctx, connector, topics); err != nil {
			return err
		}
		if err := w.settle(ctx, connector); err != nil {
			return err
		}
	}
	return nil
}

func (w *Watermark) forget() {
	clear(w.pending)
	w.mu.Lock()
	defer w.mu.Unlock()
	clear(w.offered)
}

// take makes the offered heartbeat pending. It reads the extents after the heartbeat arrived, so they include
// everything before it.
func (w *Watermark) take(ctx context.Context, connector string, topics []string) error {
	if _, waits := w.pending[connector]; waits {
		return nil
	}
	w.mu.Lock()
	at, ok := w.offered[connector]
	w.mu.Unlock()
	if !ok {
		return nil
	}
	ends, err := w.positions.Extents(ctx, topics)
	if err != nil {
		return err
	}
	w.pending[connector] = beat{at, ends}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.offered[connector].Equal(at) {
		delete(w.offered, connector)
	}
	return nil
}

// settle records the pending heartbeat if the group has passed all its ends.
func (w *Watermark) settle(ctx context.Context, connector string) error {
	waiting, ok := w.pending[connector]
	if !ok {
		return nil
	}
	committed, err := w.positions.Committed(ctx, slices.Collect(maps.Keys(waiting.ends)))
	if err != nil {
		return err
	}
	if !passed(waiting.ends, committed) {
		return nil
	}
	if err := w.progress.Applied(ctx, connector, waiting.at); err != nil {
		return err
	}
	delete(w.pending, connector)
	return nil
}

// passed reports whether everything before ends has been processed. An empty partition needs no commit.
func passed(ends map[Partition]Extent, committed map[Partition]int64) bool {
	for partition, extent := range ends {
		done, begun := committed[partition]
		if extent.Start == extent.End && !begun {
			continue
		}
		if !begun || done < extent.End {
			return false
		}
	}
	return true
}
