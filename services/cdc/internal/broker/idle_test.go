package broker_test

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/labplatform/labplatform/pkg/clock"
	"github.com/labplatform/labplatform/pkg/lifecycle"
	"github.com/labplatform/labplatform/pkg/testkit/await"
	"github.com/labplatform/labplatform/services/cdc/internal/broker"
)

// forgetful leads a group by hand and gives the other member two of six partitions, itself one, and the rest to nobody:
// what is left when a member dies before it told what it gave up.
type forgetful struct {
	t      *testing.T
	client *kgo.Client
	id     string
	epoch  int32
}

func (f *forgetful) request(r kmsg.Request) kmsg.Response {
	f.t.Helper()
	answer, err := f.client.Request(f.t.Context(), r)
	if err != nil {
		f.t.Fatal(err)
	}
	return answer
}

// join returns the ids of all members.
func (f *forgetful) join() (members []string) {
	f.t.Helper()
	metadata := kmsg.NewConsumerMemberMetadata()
	metadata.Version, metadata.Topics = 1, []string{topic}
	r := kmsg.NewPtrJoinGroupRequest()
	r.Group, r.MemberID, r.ProtocolType, r.SessionTimeoutMillis, r.RebalanceTimeoutMillis = broker.GroupID, f.id, "consumer", 30_000, 60_000
	protocol := kmsg.NewJoinGroupRequestProtocol()
	protocol.Name, protocol.Metadata = "cooperative-sticky", metadata.AppendTo(nil)
	r.Protocols = append(r.Protocols, protocol)
	answer := f.request(r).(*kmsg.JoinGroupResponse)
	f.id, f.epoch = answer.MemberID, answer.Generation
	if answer.ErrorCode == kerr.MemberIDRequired.Code {
		return f.join()
	}
	for _, m := range answer.Members {
		members = append(members, m.MemberID)
	}
	return members
}

func (f *forgetful) give(members []string) {
	f.t.Helper()
	r := kmsg.NewPtrSyncGroupRequest()
	r.Group, r.MemberID, r.Generation = broker.GroupID, f.id, f.epoch
	r.ProtocolType, r.Protocol = kmsg.StringPtr("consumer"), kmsg.StringPtr("cooperative-sticky")
	for _, id := range members {
		given := kmsg.NewConsumerMemberAssignment()
		of := kmsg.NewConsumerMemberAssignmentTopic()
		of.Topic, of.Partitions = topic, []int32{0, 1}
		if id == f.id {
			of.Partitions = []int32{2}
		}
		given.Topics = append(given.Topics, of)
		assignment := kmsg.NewSyncGroupRequestGroupAssignment()
		assignment.MemberID, assignment.MemberAssignment = id, given.AppendTo(nil)
		r.GroupAssignment = append(r.GroupAssignment, assignment)
	}
	f.request(r)
}

// stay keeps the membership until a rebalance begins.
func (f *forgetful) stay() {
	f.t.Helper()
	for {
		r := kmsg.NewPtrHeartbeatRequest()
		r.Group, r.MemberID, r.Generation = broker.GroupID, f.id, f.epoch
		if f.request(r).(*kmsg.HeartbeatResponse).ErrorCode != 0 {
			return
		}
		if lifecycle.Pause(f.t.Context(), 20*time.Millisecond) != nil {
			return
		}
	}
}

func (f *forgetful) leave() {
	f.t.Helper()
	r := kmsg.NewPtrLeaveGroupRequest()
	member := kmsg.NewLeaveGroupRequestMember()
	member.MemberID = f.id
	r.Group, r.MemberID, r.Members = broker.GroupID, f.id, append(r.Members, member)
	f.request(r)
}

func TestPartitionsWithoutAnOwnerAreGivenOutAgain(t *testing.T) {
	t.Parallel()
	for name, instance := range map[string]string{"a member without a name": "", "a member with a name": "cdc-1"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := cluster(t, kfake.SeedTopics(6, topic))
			produce(t, c.ListenAddrs(), 0, 100)
			client, err := kgo.NewClient(kgo.SeedBrokers(c.ListenAddrs()...))
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(client.Close)
			leader := &forgetful{t: t, client: client}
			leader.give(leader.join())

			l, cfg := newLedger(), config(c.ListenAddrs())
			cfg.InstanceID = instance
			g := broker.NewGroup(cfg, []string{topic}, l, clock.System{}, slog.New(slog.DiscardHandler))
			g.Look(50 * time.Millisecond)
			ctx, cancel := context.WithCancel(context.Background())
			done := make(chan struct{})
			go func() { defer close(done); _ = g.Run(ctx) }()
			t.Cleanup(func() { cancel(); <-done })

			leader.stay() // until the member comes
			members := leader.join()
			if len(members) != 2 {
				t.Fatalf("members %v", members)
			}
			leader.give(members)
			await.True(t, "two partitions", func() bool { return g.State().Claims == 2 })
			leader.stay() // until the member joins anew
			leader.leave()
			await.True(t, "all partitions and all records", func() bool { return g.State().Claims == 6 && l.count() == 100 })
		})
	}
}
