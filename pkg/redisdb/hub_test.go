package redisdb_test

import (
	"context"
	"sync"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/labplatform/labplatform/pkg/redisdb"
	"github.com/labplatform/labplatform/pkg/testkit/await"
	"github.com/labplatform/labplatform/pkg/testkit/netfault"
	"github.com/labplatform/labplatform/pkg/testkit/redistest"
)

// linkedHub returns a hub that reaches its server over the link, and a client that does without.
func linkedHub(t *testing.T) (*redisdb.Hub, *netfault.Link, *redis.Client) {
	t.Helper()
	server := redistest.Start(t)
	l := netfault.New(t, server.Addr)
	client := redis.NewClient(&redis.Options{Addr: l.Addr()})
	hub := redisdb.NewHub(client)
	t.Cleanup(func() {
		l.Cut() // nothing waits for an answer any more
		_ = hub.Close()
		_ = client.Close()
	})
	return hub, l, server.Client()
}

// TestPagesThatCannotListenAreToldSo: each page waits for itself. In turn, each would wait for all those before it.
func TestPagesThatCannotListenAreToldSo(t *testing.T) {
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
						t.Error("a page listens to a cache that does not answer")
					}
				})
			}
			pages.Wait()
			l.Pass()
			await.Nil(t, "a page listens again", func() error {
				signal, stop, err := hub.Listen(t.Context(), "bill:1")
				if err != nil {
					return err
				}
				defer stop()
				select { // what the subscription itself has woken
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

func TestAPageLeavesAtOnceWhileTheCacheIsSilent(t *testing.T) {
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
		t.Error("a page whose caller is gone listens")
	}
}

// TestPagesThatComeAndGoLoseNothing: the last reader leaves while the next one comes.
func TestPagesThatComeAndGoLoseNothing(t *testing.T) {
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
