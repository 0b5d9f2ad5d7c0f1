package envelope_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/labplatform/labplatform/pkg/testkit/allocation"
	"github.com/labplatform/labplatform/services/cdc/internal/change"
	"github.com/labplatform/labplatform/services/cdc/internal/envelope"
)

// FuzzDecode checks that every message is either decoded, with the images required by its operation, or *Malformed. The
// images must be decodable again. Memory must be proportional to the size of the record.
func FuzzDecode(f *testing.F) {
	for _, list := range recordings(f) {
		for _, r := range list {
			f.Add(r.record().Key, r.record().Value)
		}
	}
	f.Add([]byte(`{"schema":{},"payload":{"id":1}}`), []byte(`{"op":"u","after":`+userMetaImage+`}`))
	f.Add([]byte(`{"payload":`+strings.Repeat("[", 20_000)), []byte(`{"payload":{"op":"u","after":`+strings.Repeat("{\"a\":", 20_000)))
	f.Fuzz(func(t *testing.T, key, value []byte) {
		r := change.Record{Topic: "lab.lab.userDetails", Key: key, Value: value}
		var c change.Change
		var err error
		allocation.AtMost(t, 1<<20+200*(len(key)+len(value)), func() { c, err = envelope.Decode(r) })
		if err != nil {
			onlyMalformed(t, err)
			return
		}
		if c.Op == change.Create && c.After == nil {
			t.Fatal("a create without its row was accepted")
		}
		for _, image := range [][]byte{c.Before, c.After} {
			readImage(t, image)
		}
		_, err = envelope.Key(r, "id")
		onlyMalformed(t, err)
	})
}

func readImage(t *testing.T, image []byte) {
	if image == nil {
		return
	}
	for _, table := range []string{change.UserDetails, change.Billing} {
		_, err := envelope.Source(table, image)
		onlyMalformed(t, err)
	}
	_, err := envelope.UserMeta(image)
	onlyMalformed(t, err)
}

func onlyMalformed(t *testing.T, err error) {
	t.Helper()
	var m *envelope.Malformed
	if err != nil && !errors.As(err, &m) {
		t.Fatalf("%v is no *Malformed", err)
	}
}
