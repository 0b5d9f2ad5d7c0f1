package livefeed_test

import (
	"context"
	"sync"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/labplatform/labplatform/pkg/livefeed"
	"github.com/labplatform/labplatform/pkg/testkit/await"
	"github.com/labplatform/labplatform/pkg/testkit/netfault"
	"github.com/labplatform/labplatform/pkg/testkit/redistest"
)

// linkedHub returns a hub that reaches its server through the link, and a client with a direct connection.
func linkedHub(t *testing.T) (*livefeed.Hub, *netfault.Link, *redis.Client) {
	t.Helper()
	server := redistest.Start(t)
	l := netfault.New(t, server.Addr)
	client := redis.NewClient(&redis.Options{Addr: l.Addr()})
	hub := livefeed.NewHub(client)
	t.Cleanup(func() {
		l.Cut() // so that no call waits for a response
		_ = hub.Close()
		_ = client.Close()
	})
	return hub, l, server.Client()
}

// Each page must get an error, and Listen must work again afterwards. All pages wait at the same time, because waiting
// in turn would take 20 times as long.
func TestListenFailsWhileTheCacheIsUnreachable(t *testing.T) {
	t.Parallel()
	for name, fault := range map[string]func(*netfault.Link){"silent": (*netfault.Link).Silence, "cut": (*netfault.Link).Cut} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			hub, l, client := linkedHub(t)
			fault(l)
			var pages sync.WaitGroup
			for range 20 {
				pages.Go(func() {
					if _, _, err := hub.Listen(t.Context(), "bill:1"); err == nil {
						t.Error("Listen = nil while the cache is unreachable, want an error")
					}
				})
			}
			pages.Wait()
			l.Restore()
			await.Nil(t, "Listen succeeds again", func() error {
				signal, stop, err := hub.Listen(t.Context(), "bill:1")
				if err != nil {
					return err
				}
				defer stop()
				select { // discards the value that a new subscription receives
				case <-signal:
				default:
				}
				await.True(t, "the message", func() bool {
					if err := client.Publish(t.Context(), "bill:1", "").Err(); err != nil {
						t.Error(err)
					}
					return len(signal) == 1
				})
				return nil
			})
		})
	}
}

func TestStopReturnsAtOnceWhileTheCacheHangs(t *testing.T) {
	t.Parallel()
	hub, l, _ := linkedHub(t)
	_, stop, err := hub.Listen(t.Context(), "bill:1")
	if err != nil {
		t.Fatal(err)
	}
	l.Silence()
	stop()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, _, err := hub.Listen(ctx, "bill:2"); err == nil {
		t.Error("Listen with a canceled context = nil, want an error")
	}
}

// In each round a reader joins and leaves again. Afterwards a new reader must get a message.
func TestJoiningAndLeavingReadersLoseNoMessage(t *testing.T) {
	t.Parallel()
	hub, _, client := linkedHub(t)
	for range 200 {
		_, leave, err := hub.Listen(t.Context(), "bill:1")
		if err != nil {
			t.Fatal(err)
		}
		leave()
	}
	signal, stop, err := hub.Listen(t.Context(), "bill:1")
	if err != nil {
		t.Fatal(err)
	}
	defer stop()
	<-signal
	if err := client.Publish(t.Context(), "bill:1", "").Err(); err != nil {
		t.Fatal(err)
	}
	<-signal
}
