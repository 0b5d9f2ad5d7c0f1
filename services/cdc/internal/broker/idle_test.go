package broker_test

import (
	"context"
	"net"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"

	"github.com/labplatform/labplatform/pkg/testkit/await"
	"github.com/labplatform/labplatform/pkg/testkit/netfault"
	"github.com/labplatform/labplatform/services/cdc/internal/broker"
	"github.com/labplatform/labplatform/services/cdc/internal/change"
)

// linked is a listener for a broker that advertises the address of the link.
type linked struct {
	net.Listener
	link *netfault.Link
}

func (l linked) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: l.link.Port()} }

// TestAClosedIdleConnectionFailsNoRequest closes idle connections, as brokers do after ten minutes
// (connections.max.idle.ms). The next request, which discovers this, must still succeed.
func TestAClosedIdleConnectionFailsNoRequest(t *testing.T) {
	t.Parallel()
	link, err := netfault.Listen()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(link.Close)
	link.CloseIdle(300 * time.Millisecond)
	c := cluster(t, kfake.NumBrokers(1), kfake.SeedTopics(1, topic), kfake.ListenFn(func(network, address string) (net.Listener, error) {
		inner, err := net.Listen(network, address)
		if err == nil {
			link.Serve(inner.Addr().String())
		}
		return linked{inner, link}, err
	}))
	producer, positions := broker.NewProducer(config(c.ListenAddrs())), broker.NewPositions(config(c.ListenAddrs()))
	t.Cleanup(func() { _ = producer.Close(context.WithoutCancel(t.Context())) })
	t.Cleanup(func() { _ = positions.Close(context.WithoutCancel(t.Context())) })
	for range 3 {
		if err := producer.Produce(t.Context(), topic, change.Record{Value: []byte("letter")}); err != nil {
			t.Errorf("a letter after the end of the idle connection: %v", err)
		}
		if _, err := positions.Extents(t.Context(), []string{topic}); err != nil {
			t.Errorf("the ends of a topic after the end of the idle connection: %v", err)
		}
		await.True(t, "the end of the idle connections", func() bool { return link.Connections() == 0 })
	}
}
