package mongo

import (
	"net/url"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"

	"github.com/labplatform/labplatform/pkg/config"
	"github.com/labplatform/labplatform/pkg/testkit/await"
	"github.com/labplatform/labplatform/pkg/testkit/mongotest"
	"github.com/labplatform/labplatform/pkg/testkit/netfault"
)

// A write after a closed idle connection must succeed: servers and firewalls close idle connections, and a store with
// one node does not support repeated writes. All times are a twentieth of the real ones.
func TestAClosedIdleConnectionFailsNoWrite(t *testing.T) {
	t.Parallel()
	address, err := url.Parse(mongotest.URI(t))
	if err != nil {
		t.Fatal(err)
	}
	link, err := netfault.Listen()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(link.Close)
	link.CloseIdle(2 * time.Second)
	link.Serve(address.Host)
	address.Host = link.Addr()
	settings, err := clientOptions(Config{URI: config.Secret(address.String())})
	if err != nil {
		t.Fatal(err)
	}
	settings.SetRetryWrites(false).SetHeartbeatInterval(500 * time.Millisecond)
	if settings.MaxConnIdleTime != nil {
		settings.SetMaxConnIdleTime(*settings.MaxConnIdleTime / 20)
	}
	client, err := mongo.Connect(settings)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Disconnect(t.Context()) })
	written := client.Database(mongotest.Database(t).Name()).Collection("written")
	for range 2 {
		if _, err := written.InsertOne(t.Context(), bson.D{}); err != nil {
			t.Fatalf("the first write after the end of the idle connection: %v", err)
		}
		open := link.Connections()
		await.True(t, "the end of the idle connection", func() bool { return link.Connections() < open })
	}
	if _, err := written.InsertOne(t.Context(), bson.D{}); err != nil {
		t.Fatalf("the first write after the end of the idle connection: %v", err)
	}
}
