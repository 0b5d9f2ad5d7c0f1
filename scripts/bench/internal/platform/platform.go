// Package platform measures all areas at once on a whole stack: errors, the duration of a light read under mixed load,
// and the growth of the services' memory.
package platform

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/labplatform/labplatform/scripts/bench/internal/load"
	"github.com/labplatform/labplatform/scripts/bench/internal/process"
	"github.com/labplatform/labplatform/scripts/bench/internal/report"
	"github.com/labplatform/labplatform/scripts/bench/internal/stack"
	"github.com/labplatform/labplatform/scripts/devstack/sandbox"
)

const perSecond = 100

// Run measures mixed_load_errors, mixed_load_p99_ms_light_get and rss_slope_mib_per_minute. A quick run leaves out
// change capture and search, whose start would exceed its time.
func Run(ctx context.Context, r *report.Report) error {
	rounds, warmUp, length, pipeline := 4, 30*time.Second, 40*time.Second, "on"
	if r.Quick {
		rounds, warmUp, length, pipeline = 2, 6*time.Second, 12*time.Second, "off"
	}
	s, err := stack.Start(ctx, r, "LAB_PIPELINE="+pipeline, "GATEWAY_LOG_LEVEL=WARN")
	if err != nil {
		return err
	}
	defer s.Remove()
	d := &day{sandbox: s, requests: schedule(mix(!r.Quick)), client: &http.Client{
		Timeout: 20 * time.Second, Transport: &http.Transport{MaxIdleConnsPerHost: 64},
	}}
	if _, err := d.round(ctx, warmUp); err != nil {
		return err
	}
	if failed := d.failed.Load(); failed > 0 {
		return fmt.Errorf("%d requests of the mix are wrong: %v", failed, d.first.Load())
	}
	return d.measure(ctx, r, rounds, length)
}

// day is the mix and the stack that it runs on.
type day struct {
	sandbox  *sandbox.Sandbox
	requests []request
	client   *http.Client
	token    string // of a service; valid for a minute, longer than a round
	failed   atomic.Int64
	first    atomic.Pointer[error] // the first failure
}

func (d *day) measure(ctx context.Context, r *report.Report, rounds int, length time.Duration) error {
	var failures, p99, slopes []float64
	sent := 0
	for range rounds {
		before := d.failed.Load()
		memory, stop := process.Watch(ctx, func() float64 { return services(d.sandbox.Endpoints) })
		light, err := d.round(ctx, length)
		stop()
		if err != nil {
			return err
		}
		failures = append(failures, float64(d.failed.Load()-before))
		p99 = append(p99, load.Quantile(light, 0.99))
		slopes = append(slopes, memory.Slope())
		sent += int(length.Seconds() * perSecond)
		r.Progress("%.0f failed, a light read p99 %.1f ms, memory %.1f MiB, %+.1f MiB a minute",
			failures[len(failures)-1], p99[len(p99)-1], memory.Last(), slopes[len(slopes)-1])
	}
	r.Lower("mixed_load_errors", "-", failures, "", nil)
	r.Lower("mixed_load_p99_ms_light_get", "ms", p99, "", nil)
	r.Lower("rss_slope_mib_per_minute", "MiB/min", slopes, "", nil)
	r.Correct("requests_sent", sent)
	if first := d.first.Load(); first != nil {
		r.Correct("first_error", (*first).Error())
	}
	return nil
}

// round sends the mix at an even pace for length and returns the durations of the light reads.
func (d *day) round(ctx context.Context, length time.Duration) ([]time.Duration, error) {
	var err error
	if d.token, err = d.sandbox.InternalToken(ctx); err != nil {
		return nil, err
	}
	var mu sync.Mutex
	var light []time.Duration
	_, err = load.Paced(int(length.Seconds()*perSecond), perSecond, func(i int) error {
		one := d.requests[i%len(d.requests)]
		begin := time.Now()
		if err := d.send(ctx, one); err != nil {
			d.failed.Add(1)
			d.first.CompareAndSwap(nil, &err)
			return nil
		}
		if one.light {
			mu.Lock()
			defer mu.Unlock()
			light = append(light, time.Since(begin))
		}
		return nil
	})
	return light, err
}

func (d *day) send(ctx context.Context, one request) error {
	base := d.sandbox.Endpoints.Gateway
	if one.internal {
		base = d.sandbox.Endpoints.GatewayInternal
	}
	message, err := http.NewRequestWithContext(ctx, one.method, base+one.path, strings.NewReader(one.body))
	if err != nil {
		return err
	}
	message.Header.Set("Content-Type", "application/json")
	if one.internal {
		message.Header.Set("Authorization", "Bearer "+d.token)
		message.Header.Set("X-Is-Internal-Request", "True")
	} else {
		message.Header.Set("Cookie", "sessionid="+one.session)
	}
	response, err := d.client.Do(message)
	if err != nil {
		return fmt.Errorf("%s: %w", one.name, err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode != http.StatusOK {
		err = fmt.Errorf("%d %.200s", response.StatusCode, body)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", one.name, err)
	}
	return nil
}
