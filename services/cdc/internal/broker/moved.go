package broker

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/IBM/sarama"

	"github.com/labplatform/labplatform/pkg/lifecycle"
	"github.com/labplatform/labplatform/services/cdc/internal/change"
	"github.com/labplatform/labplatform/services/cdc/internal/heartbeat"
)

const (
	// stamp is the metadata of every offset that this service commits. Tools that move or reset offsets leave it out.
	stamp = "cdc"
	// noticeWithin is how long a claim waits for the stores that tell of moves, well below the rebalance timeout: the
	// group must not wait for it.
	noticeWithin = 20 * time.Second
)

// Stamps remembers the partitions, by table and number, in which the group has committed an offset with the stamp.
type Stamps interface {
	Stamped(ctx context.Context, partition string) (bool, error)
	SetStamped(ctx context.Context, partition string) error
}

// position is what the group has committed in a partition. Without a commit, offset is the first that the partition
// has.
type position struct {
	offset  int64
	stamped bool
}

// moved reports whether someone else moved or removed the offset. One without the stamp that was never seen with it is
// that of a new partition, or of a release before the stamp.
func (p position) moved(remembered bool) bool { return remembered && !p.stamped }

// notice looks whether someone else moved or removed the offset of a claim while no process had it, before a record is
// taken, and then has every patient computed again. It returns false when it could not find out: the claim ends, and
// comes again, so that a database that is unavailable hides no move.
func (m *member) notice(session sarama.ConsumerGroupSession, topic string, id int32) bool {
	ctx, cancel := context.WithTimeout(session.Context(), noticeWithin)
	defer cancel()
	for ctx.Err() == nil {
		err := m.noticeOnce(ctx, session, heartbeat.Partition{Topic: topic, ID: id})
		if err == nil {
			return true
		}
		if ctx.Err() == nil {
			m.g.failed(err)
			_ = lifecycle.Pause(ctx, rejoinPause)
		}
	}
	return false
}

// noticeOnce may be interrupted anywhere: an offset that was moved lacks the stamp until it is sure that all patients
// are computed again, and a partition that is remembered has it.
func (m *member) noticeOnce(ctx context.Context, session sarama.ConsumerGroupSession, of heartbeat.Partition) error {
	name := fmt.Sprintf("%s/%d", change.Record{Topic: of.Topic}.Table(), of.ID)
	remembered, err := m.g.Stamps.Stamped(ctx, name)
	if err != nil {
		return err
	}
	p, err := m.g.Positions.position(ctx, of)
	if err != nil {
		return err
	}
	if p.moved(remembered) {
		if err := m.g.Lost(ctx); err != nil {
			return err
		}
		m.g.Log.Error("the offset of a partition was moved or removed; all patients are computed again",
			"topic", of.Topic, "partition", of.ID)
	}
	if !p.stamped { // the first sets an offset that is the committed one, the second one where none is
		session.ResetOffset(of.Topic, of.ID, p.offset, stamp)
		session.MarkOffset(of.Topic, of.ID, p.offset, stamp)
		session.Commit()
	}
	if remembered {
		return nil
	}
	return m.g.Stamps.SetStamped(ctx, name)
}

// position returns that of the group in a partition.
func (p *Positions) position(ctx context.Context, of heartbeat.Partition) (found position, err error) {
	asked := map[string][]int32{of.Topic: {of.ID}}
	err = p.ask(ctx, func(admin sarama.ClusterAdmin) error {
		answer, err := admin.ListConsumerGroupOffsets(p.cfg.Group, asked)
		if err != nil {
			return fmt.Errorf("offsets of group %s: %w", p.cfg.Group, err)
		}
		block := answer.GetBlock(of.Topic, of.ID)
		if block == nil {
			return fmt.Errorf("offset of group %s in %s/%d: no answer", p.cfg.Group, of.Topic, of.ID)
		}
		for _, err := range []error{answer.Err, block.Err} {
			if !errors.Is(err, sarama.ErrNoError) {
				return fmt.Errorf("offset of group %s in %s/%d: %w", p.cfg.Group, of.Topic, of.ID, err)
			}
		}
		if found = (position{block.Offset, block.Metadata == stamp}); found.offset >= 0 {
			return nil
		}
		starts, err := offsets(admin, asked, sarama.OffsetOldest)
		found = position{offset: starts[of]}
		return err
	})
	return found, err
}
