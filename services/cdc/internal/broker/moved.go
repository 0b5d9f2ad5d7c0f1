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
	// stamp is the metadata of every offset that this service commits. Tools that move or reset offsets do not set it.
	stamp = "cdc"
	// noticeWithin is how long a claim waits for the stores needed to detect moved offsets. It is well below the rebalance
	// timeout, because the group waits for the claim.
	noticeWithin = 20 * time.Second
)

// Stamps stores, as table/number, the partitions in which the group has committed a stamped offset.
type Stamps interface {
	Stamped(ctx context.Context, partition string) (bool, error)
	SetStamped(ctx context.Context, partition string) error
}

// position is the group's committed offset in a partition or, without a commit, the offset of the first record.
type position struct {
	offset  int64
	stamped bool
}

// moved reports whether a tool moved or removed the offset. remembered is true if the partition once had a stamped
// offset; without one, a missing stamp is normal: the partition is new, or a release without stamps committed the
// offset.
func (p position) moved(remembered bool) bool { return remembered && !p.stamped }

// notice checks, before the first record of a claim is read, whether a tool moved or removed the offset while no
// process owned the partition. If so, it starts a full resync. It returns false if the check was not possible, such as
// with an unavailable database; the claim then ends and is repeated, so that no move is missed.
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

// noticeOnce makes one check. It can be interrupted at any point: a moved offset gets its stamp only after the full
// resync was started durably, and the partition is stored only after that.
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
	if !p.stamped { // ResetOffset changes an existing offset, MarkOffset a missing one
		session.ResetOffset(of.Topic, of.ID, p.offset, stamp)
		session.MarkOffset(of.Topic, of.ID, p.offset, stamp)
		session.Commit()
	}
	if remembered {
		return nil
	}
	return m.g.Stamps.SetStamped(ctx, name)
}

// position returns the group's position in a partition.
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
