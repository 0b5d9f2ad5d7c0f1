package heartbeat

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"
)

// Partition names a partition of a topic.
type Partition struct {
	Topic string
	ID    int32
}

// Extent is what a partition holds: the offsets from Start to before End.
type Extent struct{ Start, End int64 }

// Positions tells where the brokers and the consumer group stand. Errors are faults.
type Positions interface {
	// Extents returns what each partition of topics holds at this moment.
	Extents(ctx context.Context, topics []string) (map[Partition]Extent, error)
	// Committed returns the offset of the first record that the group has not done, for those partitions where it has
	// begun.
	Committed(ctx context.Context, partitions []Partition) (map[Partition]int64, error)
}

// Progress keeps how far the consumer group has come with each connector.
type Progress interface {
	// Applied notes that every change before a connector's beat is applied. An older beat changes nothing.
	Applied(ctx context.Context, connector string, beatAt time.Time) error
}

// Watermark notes a beat once all processes together have done what came before it. Offer may be called from several
// goroutines, RunOnce from one at a time.
type Watermark struct {
	positions Positions
	progress  Progress
	indexed   func(context.Context) (bool, error)
	topics    map[string][]string // by connector: where its changes are

	mu      sync.Mutex
	offered map[string]time.Time // guarded by mu; the newest beat of each connector that waits for its turn

	pending map[string]beat // of RunOnce
}

// beat is one that waits until the group has come to the ends.
type beat struct {
	at   time.Time
	ends map[Partition]Extent
}

// NewWatermark returns one for connectors whose changes are in topics, by the connector's name. indexed reports whether
// what is done is in the index as well: while it is not, no beat is noted, or the data would seem fresh that no one
// finds.
func NewWatermark(
	positions Positions, progress Progress, indexed func(context.Context) (bool, error), topics map[string][]string,
) *Watermark {
	return &Watermark{positions: positions, progress: progress, indexed: indexed, topics: topics,
		offered: map[string]time.Time{}, pending: map[string]beat{}}
}

// Offer adds a beat that arrived. A beat of an unknown connector is ignored.
func (w *Watermark) Offer(connector string, at time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.topics[connector] != nil && at.After(w.offered[connector]) {
		w.offered[connector] = at
	}
}

// RunOnce takes up the beats that were offered, and notes those behind which nothing is open any more. While one waits,
// the next of its connector is not considered: each would come later than the one before it.
func (w *Watermark) RunOnce(ctx context.Context) error {
	if indexed, err := w.indexed(ctx); err != nil || !indexed {
		w.forget() // a beat of before says nothing of what is done without the index
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

// take makes the offered beat pending. What the partitions hold is read after it arrived: at least all before it.
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

// settle notes the pending beat when the group has passed all its ends.
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

// passed reports whether nothing before ends is open. An empty partition needs no commit.
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
