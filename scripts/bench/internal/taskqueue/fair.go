package taskqueue

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/labplatform/labplatform/scripts/bench/internal/load"
)

const (
	floodJobs  = 5000
	slowAnswer = 2 * time.Second
	// settled is the time after which the flood uses as many slots as it can get.
	settled = 3 * time.Second
)

// fair measures the webhooks of a laboratory that sends one per second while another laboratory floods a slow receiver
// with more than can be delivered.
func (b *bench) fair(ctx context.Context, gateway string) error {
	slow, stopSlow, err := receive(ctx, func(int) { time.Sleep(slowAnswer) })
	if err != nil {
		return err
	}
	defer stopSlow()
	a := &arrivals{at: map[int]time.Time{}}
	quick, stopQuick, err := receive(ctx, a.add)
	if err != nil {
		return err
	}
	defer stopQuick()
	stop, err := rest(gateway)(ctx, slow, floodJobs)
	if err != nil {
		return err
	}
	defer func() { _ = stop() }()
	time.Sleep(settled)
	var p95 []float64
	for round := range b.sizes.rounds {
		taken, err := a.probe(ctx, gateway, quick, round*b.sizes.fair, b.sizes.fair)
		if err != nil {
			return fmt.Errorf("fairness: %w", err)
		}
		p95 = append(p95, load.Quantile(taken, 0.95))
		b.report.Progress("beside a flood: p95 %.0f ms of %d webhooks", p95[round], b.sizes.fair)
	}
	b.report.Lower("fair_p95_ms", "ms", p95, "", nil)
	return nil
}

// receive serves webhooks whose bodies are {"n":…}.
func receive(ctx context.Context, got func(n int)) (url string, stop func(), err error) {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", nil, err
	}
	server := &http.Server{Handler: http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		var body struct {
			N int `json:"n"`
		}
		if json.NewDecoder(r.Body).Decode(&body) == nil {
			got(body.N)
		}
	})}
	go func() { _ = server.Serve(listener) }()
	return "http://" + listener.Addr().String() + "/", func() { _ = server.Close() }, nil
}

// arrivals holds the arrival times of webhooks by their number.
type arrivals struct {
	mu sync.Mutex
	at map[int]time.Time // guarded by mu
}

func (a *arrivals) add(n int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.at[n] = time.Now()
}

// probe sends one webhook per second, from number first on, and returns the time of each from its request to its
// arrival.
func (a *arrivals) probe(ctx context.Context, gateway, url string, first, count int) ([]time.Duration, error) {
	client := &http.Client{Timeout: 10 * time.Second}
	defer client.CloseIdleConnections()
	sent := make([]time.Time, count)
	for i := range count {
		sent[i] = time.Now()
		task := fmt.Sprintf(`[{"task":4,"task_type":2,"data":{"url":%q,"isBody":1,"args":{"n":%d}}}]`, url, first+i)
		if err := post(ctx, client, gateway+"/queue/", []byte(task), "sessionid=demo-second-lab-user"); err != nil {
			return nil, err
		}
		time.Sleep(time.Until(sent[i].Add(time.Second)))
	}
	return a.await(ctx, sent, first)
}

func (a *arrivals) await(ctx context.Context, sent []time.Time, first int) ([]time.Duration, error) {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	taken := make([]time.Duration, len(sent))
	for ctx.Err() == nil {
		a.mu.Lock()
		for i := range sent {
			if at, ok := a.at[first+i]; ok {
				taken[i] = at.Sub(sent[i])
			}
		}
		a.mu.Unlock()
		if !slices.Contains(taken, 0) {
			return taken, nil
		}
		time.Sleep(20 * time.Millisecond)
	}
	return nil, fmt.Errorf("not all of %d webhooks arrived: %w", len(sent), ctx.Err())
}
