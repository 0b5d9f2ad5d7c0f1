package app_test

import (
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"

	taskqueuev1 "github.com/labplatform/labplatform/proto/gen/lab/taskqueue/v1"
)

// BenchmarkWebhooks measures the whole service as a process: gRPC in batches of 200, real HTTP deliveries to a receiver
// in this process, and fsync on every write.
func BenchmarkWebhooks(b *testing.B) {
	p := newProcess(b, "TASKQUEUE_OUTBOX_ENABLED=false")
	var got atomic.Int64
	all := make(chan struct{})
	receiver := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		if got.Add(1) == int64(b.N) {
			close(all)
		}
	}))
	b.Cleanup(receiver.Close)
	p.ready()
	client, ctx := p.client()
	var left atomic.Int64
	left.Store(int64(b.N))
	b.ResetTimer()
	var group sync.WaitGroup
	for range 2 {
		group.Go(func() {
			for size := min(200, left.Add(-200)+200); size > 0; size = min(200, left.Add(-200)+200) {
				in := &taskqueuev1.EnqueueRequest{}
				for range size {
					in.Tasks = append(in.Tasks, &taskqueuev1.Task{Task: 4, TaskType: 2, Data: webhookData(receiver.URL)})
				}
				if _, err := client.Enqueue(ctx, in); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	group.Wait()
	<-all
	b.StopTimer()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "webhooks/s")
}
