package broker_test

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/labplatform/labplatform/pkg/clock"
	"github.com/labplatform/labplatform/pkg/testkit/await"
	"github.com/labplatform/labplatform/services/cdc/internal/broker"
	"github.com/labplatform/labplatform/services/cdc/internal/change"
	"github.com/labplatform/labplatform/services/cdc/internal/consume"
)

const topic = "lab.lab.userDetails"

// cluster starts an in-process Kafka cluster that can simulate faults.
func cluster(t *testing.T, opts ...kfake.Opt) *kfake.Cluster {
	t.Helper()
	c, err := kfake.NewCluster(append([]kfake.Opt{kfake.NumBrokers(3)}, opts...)...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

func config(brokers []string) broker.Config {
	return broker.Config{Brokers: brokers, Version: "3.6.0", Group: broker.GroupID, SessionTimeout: 6 * time.Second}
}

// ledger is a Consumer that accepts every record and stores the member that received it.
type ledger struct {
	mu      sync.Mutex
	seen    map[string]int    // number of arrivals of each record
	order   map[int32][]int64 // offsets by partition in the order of arrival
	owners  map[int32]int     // running claims by partition
	overlap int               // how often two claims had the same partition
	lost    int               // number of calls of Lost
	err     error             // result of Lost
	stamped map[string]bool
	asked   int // number of Stamped calls
}

func (l *ledger) Stamped(_ context.Context, partition string) (bool, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.asked++
	return l.stamped[partition], l.err
}

func (l *ledger) SetStamped(_ context.Context, partition string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.stamped[partition] = true
	return l.err
}

func (l *ledger) makeUp(context.Context) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lost++
	return l.err
}

func (l *ledger) away(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.err = err
}

func (l *ledger) triesToMakeUp() int { l.mu.Lock(); defer l.mu.Unlock(); return l.lost }

func newLedger() *ledger {
	return &ledger{seen: map[string]int{}, order: map[int32][]int64{}, owners: map[int32]int{}, stamped: map[string]bool{}}
}

func (l *ledger) Run(_ context.Context, claim consume.Claim) {
	l.own(claim.Partition, 1)
	defer l.own(claim.Partition, -1)
	for record := range claim.Records {
		l.note(record)
		claim.Mark(record.Offset + 1)
	}
}

func (l *ledger) own(partition int32, by int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.owners[partition] += by
	if l.owners[partition] > 1 {
		l.overlap++
	}
}

func (l *ledger) asks() int { l.mu.Lock(); defer l.mu.Unlock(); return l.asked }

// running returns the number of partitions that are claimed now.
func (l *ledger) running() (n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, owners := range l.owners {
		n += owners
	}
	return n
}

func (l *ledger) note(r change.Record) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.seen[fmt.Sprint(r.Partition, "/", r.Offset)]++
	l.order[r.Partition] = append(l.order[r.Partition], r.Offset)
}

func (l *ledger) count() int { l.mu.Lock(); defer l.mu.Unlock(); return len(l.seen) }

// join starts a member. stop ends it and waits until it has ended.
func join(t *testing.T, brokers []string, l *ledger) (*broker.Group, func()) {
	t.Helper()
	return joinAs(t, rand.Text(), brokers, l)
}

func joinAs(t *testing.T, name string, brokers []string, l *ledger) (*broker.Group, func()) {
	t.Helper()
	positions := broker.NewPositions(config(brokers))
	t.Cleanup(func() { _ = positions.Close(context.Background()) })
	g := broker.NewGroup(broker.GroupDeps{Config: config(brokers), Name: name, Topics: []string{topic}, Consumer: l, Lost: l.makeUp, Positions: positions, Stamps: l, Clock: clock.System{},
		Log: slog.New(slog.DiscardHandler)})
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = g.Run(ctx)
	}()
	stop := sync.OnceFunc(func() { cancel(); <-done })
	t.Cleanup(stop)
	return g, stop
}

func produce(t *testing.T, brokers []string, from, to int) {
	t.Helper()
	p := broker.NewProducer(config(brokers))
	defer func() { _ = p.Close(context.Background()) }()
	for i := from; i < to; i++ {
		record := change.Record{Key: []byte(fmt.Sprintf(`{"id":%d}`, i)), Value: []byte(fmt.Sprintf(`{"op":"c","after":{"id":%d}}`, i))}
		if err := p.Produce(t.Context(), topic, record); err != nil {
			t.Fatal(err)
		}
	}
}

func TestMembersShareThePartitionsAndLoseNothingWhenTheyComeAndGo(t *testing.T) {
	t.Parallel()
	c := cluster(t, kfake.SeedTopics(6, topic))
	l := newLedger()
	produce(t, c.ListenAddrs(), 0, 200)
	first, stopFirst := join(t, c.ListenAddrs(), l)
	await.True(t, "the first records", func() bool { return l.count() == 200 })
	if state := first.State(); !state.Member || state.Claims != 6 {
		t.Errorf("a lone member: %+v", state)
	}
	second, _ := join(t, c.ListenAddrs(), l)
	await.True(t, "the second member's share", func() bool { return second.State().Claims == 3 && first.State().Claims == 3 })
	produce(t, c.ListenAddrs(), 200, 400)
	await.True(t, "records of both", func() bool { return l.count() == 400 })
	stopFirst()
	await.True(t, "the move of the rest", func() bool { return second.State().Claims == 6 })
	produce(t, c.ListenAddrs(), 400, 500)
	await.True(t, "records after the first left", func() bool { return l.count() == 500 })
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.overlap != 0 {
		t.Errorf("%d times two members had one partition", l.overlap)
	}
	for key, times := range l.seen {
		if times != 1 {
			t.Errorf("record %s came %d times although every stop was orderly", key, times)
		}
	}
}

// TestAProcessIsReadForByTheNextOneInItsPlace checks that a process with the name of a crashed one removes its
// membership, so that all records are read before the session expires.
func TestAProcessIsReadForByTheNextOneInItsPlace(t *testing.T) {
	t.Parallel()
	c := cluster(t, kfake.SeedTopics(6, topic))
	produce(t, c.ListenAddrs(), 0, 50)
	die(t, "pod-a", c.ListenAddrs())
	other, next := newLedger(), newLedger()
	_, stop := joinAs(t, "pod-b", c.ListenAddrs(), other)
	joinAs(t, "pod-a", c.ListenAddrs(), next)
	await.True(t, "the records", func() bool { return other.count()+next.count() == 50 })
	stop()
}

// die joins the group, gets the partitions, and then stops responding. Its session outlasts every test.
func die(t *testing.T, name string, brokers []string) {
	t.Helper()
	client, err := kgo.NewClient(kgo.SeedBrokers(brokers...), kgo.ClientID("cdc-consumer-"+name))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	join := kmsg.NewPtrJoinGroupRequest()
	join.Group, join.ProtocolType, join.SessionTimeoutMillis, join.RebalanceTimeoutMillis = broker.GroupID, "consumer", 300_000, 300_000
	protocol := kmsg.NewJoinGroupRequestProtocol()
	protocol.Name = "cooperative-sticky"
	subscription := kmsg.NewConsumerMemberMetadata()
	subscription.Topics = []string{topic}
	protocol.Metadata = subscription.AppendTo(nil)
	join.Protocols = append(join.Protocols, protocol)
	answer, err := join.RequestWith(t.Context(), client)
	if err == nil && answer.ErrorCode == kerr.MemberIDRequired.Code {
		join.MemberID = answer.MemberID
		answer, err = join.RequestWith(t.Context(), client)
	}
	if err == nil {
		err = kerr.ErrorForCode(answer.ErrorCode)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func TestAGoneBrokerIsJoinedAgain(t *testing.T) {
	t.Parallel()
	c := cluster(t, kfake.SeedTopics(6, topic))
	l := newLedger()
	for _, err := range []*kerr.Error{kerr.NotCoordinator, kerr.RebalanceInProgress, kerr.IllegalGeneration, kerr.UnknownMemberID} {
		c.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Heartbeat}, Err: err, Count: 1})
	}
	c.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Fetch}, Err: kerr.NotLeaderForPartition, Count: 3})
	g, _ := join(t, c.ListenAddrs(), l)
	for i := range 5 {
		produce(t, c.ListenAddrs(), i*40, (i+1)*40)
		c.ShufflePartitionLeaders()
		c.RehashCoordinators()
	}
	await.True(t, "all records", func() bool { return l.count() == 200 })
	if fault := g.State().Fault; fault != nil && fault.Operator {
		t.Errorf("what passes by itself asks for a person: %v", fault)
	}
}

func TestWhatAPersonMustMendIsSaid(t *testing.T) {
	t.Parallel()
	cases := []struct {
		name   string
		seeds  []kfake.Opt
		fault  *kfake.Fault
		advice string
	}{
		{"the group is not allowed", []kfake.Opt{kfake.SeedTopics(6, topic)},
			&kfake.Fault{Keys: []kmsg.Key{kmsg.JoinGroup}, Err: kerr.GroupAuthorizationFailed, Count: -1}, "set CDC_CONSUMER_GROUP to cdc-unified"},
		{"the topics do not exist", nil, nil, "run cdc migrate"},
		{"the topics may not be read", []kfake.Opt{kfake.SeedTopics(6, topic)},
			&kfake.Fault{Keys: []kmsg.Key{kmsg.Fetch}, Err: kerr.TopicAuthorizationFailed, Count: -1}, "allow this user to read"},
	}
	for _, test := range cases {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			c := cluster(t, test.seeds...)
			var handle *kfake.FaultHandle
			if test.fault != nil {
				handle = c.Fault(*test.fault)
			}
			l := newLedger()
			g, _ := join(t, c.ListenAddrs(), l)
			await.True(t, "the advice", func() bool {
				fault := g.State().Fault
				return fault != nil && fault.Operator && strings.Contains(fault.Advice, test.advice)
			})
			if handle != nil {
				handle.Remove()
			} else if err := c.CreateTopic(topic, 6, nil); err != nil {
				t.Fatal(err)
			}
			produce(t, c.ListenAddrs(), 0, 20)
			await.True(t, "the records once it is fixed", func() bool { return l.count() == 20 })
			await.True(t, "the end of the advice", func() bool { return g.State().Fault == nil })
		})
	}
}

// TestAGapIsJumpedOverBehindWhatMakesUpForIt checks that deleted, unread records are skipped only after the full resync
// that replaces them was started.
func TestAGapIsJumpedOverBehindWhatMakesUpForIt(t *testing.T) {
	t.Parallel()
	c := cluster(t, kfake.SeedTopics(1, topic))
	produce(t, c.ListenAddrs(), 0, 30)
	l := newLedger()
	_, stop := join(t, c.ListenAddrs(), l)
	await.True(t, "the first records", func() bool { return l.count() == 30 })
	stop()
	produce(t, c.ListenAddrs(), 30, 60)
	if err := c.DeleteRecords(topic, 0, 45); err != nil {
		t.Fatal(err)
	}
	l.away(errors.New("the database is unavailable"))
	join(t, c.ListenAddrs(), l)
	await.True(t, "two tries", func() bool { return l.triesToMakeUp() >= 2 })
	if l.count() != 30 {
		t.Errorf("%d records came: the gap was jumped over, and no one makes up for it", l.count())
	}
	l.away(nil)
	await.True(t, "what is left", func() bool { return l.count() == 45 })
	tries := l.triesToMakeUp()
	produce(t, c.ListenAddrs(), 60, 70)
	await.True(t, "what comes behind", func() bool { return l.count() == 55 })
	if l.triesToMakeUp() != tries {
		t.Error("one gap is made up for again and again")
	}
}

// TestKeysGoWhereTheConnectorsPutThem compares the partition of each key with that of a second library, which
// partitions like Java clients.
func TestKeysGoWhereTheConnectorsPutThem(t *testing.T) {
	t.Parallel()
	c := cluster(t, kfake.SeedTopics(6, topic))
	produce(t, c.ListenAddrs(), 0, 100)
	l := newLedger()
	join(t, c.ListenAddrs(), l)
	await.True(t, "all records", func() bool { return l.count() == 100 })
	java := kgo.StickyKeyPartitioner(nil).ForTopic(topic)
	want := map[int32]int{}
	for i := range 100 {
		want[int32(java.Partition(&kgo.Record{Key: []byte(fmt.Sprintf(`{"id":%d}`, i))}, 6))]++
	}
	got := map[int32]int{}
	l.mu.Lock()
	defer l.mu.Unlock()
	for partition, offsets := range l.order {
		got[partition] = len(offsets)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
