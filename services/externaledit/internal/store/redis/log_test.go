package redis_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/labplatform/labplatform/pkg/testkit/await"
	"github.com/labplatform/labplatform/pkg/testkit/redistest"
	"github.com/labplatform/labplatform/services/externaledit/internal/store/redis"
	"github.com/labplatform/labplatform/services/externaledit/internal/watch"
)

const channel = "external_edit_7001"

func ids(entries []watch.Entry) []string {
	var all []string
	for _, e := range entries {
		all = append(all, e.ID)
	}
	return all
}

func TestAnEventIsKeptAndPublishedOnce(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	client := server.Client()
	c := redis.New(client)
	defer func() { _ = c.Close() }()
	if last, err := c.Last(t.Context(), channel); err != nil || last != watch.Start {
		t.Fatalf("got %q %v, want watch.Start", last, err)
	}
	published := client.Subscribe(t.Context(), channel)
	defer func() { _ = published.Close() }()
	if _, err := published.Receive(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{"1795338047117-1", "1795338047117-1", "1795338047504-2"} { // the first one is repeated
		if err := c.Append(t.Context(), channel, watch.Entry{ID: id, Event: "files_uploaded", Data: `{"n":"` + id +
			`"}`}); err != nil {
			t.Fatal(err)
		}
	}
	all, err := c.After(t.Context(), channel, watch.Start, 10)
	if err != nil || !slices.Equal(ids(all), []string{"1795338047117-1", "1795338047504-2"}) ||
		all[0].Event != "files_uploaded" || all[0].Data != `{"n":"1795338047117-1"}` {
		t.Errorf("%+v %v", all, err)
	}
	if rest, err := c.After(t.Context(), channel, "1795338047117-1", 10); err != nil || len(rest) != 1 {
		t.Errorf("got %+v %v, want 1", rest, err)
	}
	for _, want := range []string{`{"n":"1795338047117-1"}`, `{"n":"1795338047504-2"}`} {
		if m := <-published.Channel(); m.Payload != want {
			t.Errorf("published %s, want %s", m.Payload, want)
		}
	}
	// An event of a replica whose clock is behind still comes last.
	if err := c.Append(t.Context(), channel, watch.Entry{ID: "1795338000000-3", Event: "session_ended",
		Data: "{}"}); err != nil {
		t.Fatal(err)
	}
	if rest, err := c.After(t.Context(), channel, "1795338047504-2", 10); err != nil || len(rest) != 1 ||
		rest[0].Event != "session_ended" {
		t.Errorf("%+v %v", rest, err)
	}
}

func TestReadersAreWokenAlsoAfterALostConnection(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	c := redis.New(server.Client())
	defer func() { _ = c.Close() }()
	first, stopFirst, err := c.Listen(t.Context(), channel)
	if err != nil {
		t.Fatal(err)
	}
	second, stopSecond, err := c.Listen(t.Context(), channel)
	if err != nil {
		t.Fatal(err)
	}
	defer stopSecond()
	n := 0
	add := func() error {
		n++
		return c.Append(t.Context(), channel, watch.Entry{ID: fmt.Sprintf("%d-1", 1795338047117+n), Event: "e", Data: "{}"})
	}
	<-first // the signal of the subscription itself, which existed before the second reader
	if err := add(); err != nil {
		t.Fatal(err)
	}
	<-first
	<-second
	stopFirst()
	server.Restart()
	await.Nil(t, "a new event after the restart", add)
	<-second // the subscription works again
}
