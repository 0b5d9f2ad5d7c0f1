package taskqueue

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/labplatform/labplatform/scripts/bench/internal/report"
	"github.com/labplatform/labplatform/scripts/bench/internal/stack"
)

// senders is the number of concurrent requests of each side to the one receiver.
const senders = 64

// service measures webhooks through the whole service.
func (b *bench) service(ctx context.Context) error {
	platform, err := stack.New("TASKQUEUE_OUTBOX_ENABLED=false", "TASKQUEUE_HOST_CONCURRENCY="+strconv.Itoa(senders),
		"TASKQUEUE_WEBHOOK_WORKERS="+strconv.Itoa(2*senders)) // a laboratory alone gets two thirds of the workers
	if err != nil {
		return err
	}
	defer platform.Remove()
	if _, err := platform.Up(ctx); err != nil {
		return err
	}
	if err := b.webhooks(ctx, platform.Endpoints.Gateway); err != nil {
		return err
	}
	return b.fair(ctx, platform.Endpoints.Gateway)
}

// webhooks measures deliveries to a receiver on the loopback: ours through the whole service (REST request, guarded
// sender, fsync at every write), the peer with a handler that posts the same body.
func (b *bench) webhooks(ctx context.Context, gateway string) error {
	s, err := startServer(ctx, "always")
	if err != nil {
		return err
	}
	defer s.stop()
	jobs, peerJobs := b.sizes.ours/10, b.sizes.peer/2
	oursRuns, peerRuns, err := report.Alternate(b.sizes.rounds,
		func() (float64, error) { return b.deliver(ctx, jobs, rest(gateway)) },
		func() (float64, error) { return b.deliver(ctx, peerJobs, b.posting(ctx, s)) })
	if err != nil {
		return fmt.Errorf("webhooks: %w", err)
	}
	b.report.Higher("webhooks_per_second", "1/s", oursRuns, peerName+" "+b.cell.String(), peerRuns)
	return nil
}

// deliver starts a receiver, calls send to order the deliveries, and returns their rate once all have arrived.
func (b *bench) deliver(
	ctx context.Context,
	jobs int,
	send func(ctx context.Context, url string, jobs int) (stop func() error, err error),
) (float64, error) {
	path := filepath.Join(b.dir, "tally")
	seen, err := openTally(path, jobs)
	if err != nil {
		return 0, err
	}
	defer os.Remove(path)
	defer seen.close()
	url, stopReceiver, err := receive(ctx, seen.add)
	if err != nil {
		return 0, err
	}
	defer stopReceiver()
	start := time.Now()
	stop, err := send(ctx, url, jobs)
	if err != nil {
		return 0, err
	}
	err = seen.await(ctx, jobs)
	elapsed := time.Since(start)
	if stopErr := stop(); err == nil {
		err = stopErr
	}
	b.count(seen, jobs)
	return float64(jobs) / elapsed.Seconds(), err
}

// rest returns a function that orders deliveries through POST /queue/ of the platform.
func rest(gateway string) func(context.Context, string, int) (func() error, error) {
	const batch = 500
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: ourProducers}, Timeout: 10 * time.Second}
	return func(ctx context.Context, url string, jobs int) (func() error, error) {
		err := spread(ctx, ourProducers, 0, jobs, batch, func(ctx context.Context, from, to int) error {
			tasks := make([]map[string]any, 0, to-from)
			for i := from; i < to; i++ {
				tasks = append(tasks, map[string]any{"task": 4, "task_type": 2, "data": map[string]any{
					"url": url, "isBody": 1, "args": map[string]any{"n": i}}})
			}
			body, err := json.Marshal(tasks)
			if err != nil {
				return err
			}
			return post(ctx, client, gateway+"/queue/", body, "sessionid=demo-lab-user")
		})
		return func() error { client.CloseIdleConnections(); return nil }, err
	}
}

// posting returns a function that has the peer's handlers post.
func (b *bench) posting(ctx context.Context, s *server) func(context.Context, string, int) (func() error, error) {
	return func(_ context.Context, url string, jobs int) (func() error, error) {
		if err := s.wipe(ctx); err != nil {
			return nil, err
		}
		e := openPeer(s.address, b.cell)
		client := &http.Client{
			Transport: &http.Transport{MaxIdleConnsPerHost: senders, MaxConnsPerHost: senders},
			Timeout:   10 * time.Second,
		}
		working, cancel := context.WithCancel(ctx)
		worked := make(chan error, 1)
		go func() {
			worked <- e.work(working, func(p []byte) {
				_ = post(ctx, client, url, fmt.Appendf(nil, `{"n":%d}`, number(p)), "")
			})
		}()
		err := e.enqueue(ctx, 0, jobs, nil)
		return func() error {
			cancel()
			defer client.CloseIdleConnections()
			defer e.close()
			return <-worked
		}, err
	}
}

func post(ctx context.Context, client *http.Client, url string, body []byte, cookie string) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		return err
	}
	request.Header.Set("Content-Type", "application/json")
	if cookie != "" {
		request.Header.Set("Cookie", cookie)
	}
	response, err := client.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s answers %d %.200s", url, response.StatusCode, answer)
	}
	return err
}
