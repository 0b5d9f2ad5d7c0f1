package worker_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/labplatform/labplatform/services/taskqueue/internal/job"
	"github.com/labplatform/labplatform/services/taskqueue/internal/seal"
	"github.com/labplatform/labplatform/services/taskqueue/internal/store/engine"
	"github.com/labplatform/labplatform/services/taskqueue/internal/worker"
)

func (w *world) body(id job.ID) []byte {
	w.t.Helper()
	s, err := w.queue.Info(context.Background(), []job.ID{id})
	if err != nil || s[0].Place != engine.PlaceLane {
		w.t.Fatalf("place %d, %v", s[0].Place, err)
	}
	return s[0].Body
}

func writeKey(t *testing.T, dir, name string, filler byte) {
	t.Helper()
	text := base64.StdEncoding.EncodeToString(bytes.Repeat([]byte{filler}, 32))
	if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func ringOf(t *testing.T, dir string) *seal.Ring {
	t.Helper()
	r, err := seal.NewRing(os.DirFS(dir))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestASealedJobIsOpenForItsHandlerAloneAndWaitsForAMissingKey(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		keys, formerKeys := t.TempDir(), t.TempDir()
		writeKey(t, keys, "2", 2)
		writeKey(t, formerKeys, "1", 1)
		ring, previous := ringOf(t, keys), ringOf(t, formerKeys)
		w := &world{t: t, queue: newQueue(), ids: newIDs(), seals: ring}
		var mu sync.Mutex // guards seen
		var seen []string
		w.start(func(_ context.Context, d worker.Delivery) (job.Result, error) {
			mu.Lock()
			defer mu.Unlock()
			seen = append(seen, string(d.Body.Data))
			d.Body.Data = []byte(`{"otp":"135790","sent":1}`) // a channel stores its progress in this way
			return job.Result{}, job.Retryable("network", "no answer")
		})
		b := &job.Body{Retry: 3, Data: []byte(`{"otp":"135790"}`)}
		previous.Seal(b, job.Webhook)
		id := w.enqueue(b)
		pass(10 * time.Second)
		waiting, err := job.DecodeBody(w.body(id))
		mu.Lock()
		if len(seen) > 0 || err != nil || waiting.Attempts != 0 {
			t.Errorf("without its key: handled %d times, %+v, %v", len(seen), waiting, err)
		}
		mu.Unlock()
		writeKey(t, keys, "1", 1)
		pass(2 * time.Minute)
		mu.Lock()
		defer mu.Unlock()
		if len(seen) < 2 || seen[0] != `{"otp":"135790"}` || seen[1] != `{"otp":"135790","sent":1}` {
			t.Errorf("the handler saw %q", seen)
		}
		if bytes.Contains(w.body(id), []byte("135790")) {
			t.Error("the job waits for its retry in clear text")
		}
		w.end()
	})
}
