package broker_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/labplatform/labplatform/pkg/testkit/await"
	"github.com/labplatform/labplatform/services/cdc/internal/broker"
	"github.com/labplatform/labplatform/services/cdc/internal/heartbeat"
)

func TestPositionsAreThoseOfTheWholeGroup(t *testing.T) {
	t.Parallel()
	c := cluster(t, kfake.SeedTopics(6, topic), kfake.SeedTopics(1, "lab.lab.user_meta"))
	produce(t, c.ListenAddrs(), 0, 200)
	p := broker.NewPositions(config(c.ListenAddrs()))
	t.Cleanup(func() { _ = p.Close(t.Context()) })
	extents, err := p.Extents(t.Context(), []string{topic})
	if err != nil || len(extents) != 6 {
		t.Fatalf("got %v, %v, want 6", extents, err)
	}
	total, partitions, want := int64(0), []heartbeat.Partition(nil), map[heartbeat.Partition]int64{}
	for partition, extent := range extents {
		total += extent.End - extent.Start
		partitions = append(partitions, partition)
		want[partition] = extent.End
	}
	if total != 200 {
		t.Errorf("%d records in %v", total, extents)
	}
	if got, err := p.Committed(t.Context(), partitions); err != nil || len(got) != 0 {
		t.Fatalf("before anybody read: %v, %v", got, err)
	}
	l := newLedger()
	join(t, c.ListenAddrs(), l)
	join(t, c.ListenAddrs(), l)
	await.True(t, "the commits of both members", func() bool {
		got, err := p.Committed(t.Context(), partitions)
		return err == nil && cmp.Equal(want, got)
	})
}

func TestPositionsThatCannotBeToldAreErrorsUntilTheyCan(t *testing.T) {
	t.Parallel()
	c := cluster(t, kfake.SeedTopics(6, topic))
	p := broker.NewPositions(config(c.ListenAddrs()))
	t.Cleanup(func() { _ = p.Close(t.Context()) })
	if got, err := p.Extents(t.Context(), []string{topic, "lab.lab.missing"}); err == nil {
		t.Errorf("a topic that is not there holds %v", got)
	}
	denied := c.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.OffsetFetch}, Err: kerr.GroupAuthorizationFailed, Count: -1})
	of := []heartbeat.Partition{{Topic: topic}}
	if got, err := p.Committed(t.Context(), of); err == nil {
		t.Errorf("without the right to read the group it stands at %v", got)
	}
	denied.Remove()
	if _, err := p.Committed(t.Context(), of); err != nil {
		t.Error(err)
	}
}
