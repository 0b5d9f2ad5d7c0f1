package main

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"time"
)

// pause is the time between two requests of one client. Each service has two clients, one of which keeps its
// connection.
const pause = 100 * time.Millisecond

// load sends requests continuously and counts the lost ones.
type load struct {
	stop  context.CancelFunc
	group sync.WaitGroup

	mu     sync.Mutex // guards the fields below
	counts map[string]*count
}

type count struct {
	asked, lost int
	first       []string // the first lost requests, with their times
	longest     time.Duration
}

// underLoad runs do while clients repeat the requests, continues the load for some time, and returns the lost requests.
func (c cluster) underLoad(ctx context.Context, requests []request, do func() error) (map[string]*count, error) {
	base, err := c.gateway()
	if err != nil {
		return nil, err
	}
	ctx, stop := context.WithCancel(ctx)
	l := &load{stop: stop, counts: map[string]*count{}}
	for _, r := range requests {
		l.counts[r.service] = &count{}
		for _, kept := range []bool{true, false} {
			client := &http.Client{Transport: &http.Transport{DisableKeepAlives: !kept}}
			l.group.Go(func() { l.repeat(ctx, r, client, base) })
		}
	}
	time.Sleep(2 * time.Second)
	err = do()
	time.Sleep(5 * time.Second)
	l.stop()
	l.group.Wait()
	return l.counts, err
}

func (l *load) repeat(ctx context.Context, r request, client *http.Client, base string) {
	for ctx.Err() == nil {
		begin := time.Now()
		_, err := r.send(context.WithoutCancel(ctx), client, base)
		l.note(r.service, begin, err)
		select {
		case <-ctx.Done():
		case <-time.After(pause - time.Since(begin)):
		}
	}
}

func (l *load) note(service string, begin time.Time, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := l.counts[service]
	n.asked++
	n.longest = max(n.longest, time.Since(begin))
	if err == nil {
		return
	}
	n.lost++
	if len(n.first) < 3 {
		n.first = append(n.first, begin.Format("15:04:05.000 ")+err.Error())
	}
}

// report prints the counts and fails when a service lost more than the allowed number.
func report(what string, counts map[string]*count, allowed int) error {
	asked, lost, longest := 0, 0, time.Duration(0)
	var worst string
	for service, n := range counts {
		asked, lost, longest = asked+n.asked, lost+n.lost, max(longest, n.longest)
		if n.lost > allowed {
			worst += fmt.Sprintf("; %s lost %d of %d: %q", service, n.lost, n.asked, n.first)
		}
	}
	fmt.Printf("           %-44s %5d requests, %d failed, longest %4d ms\n", what, asked, lost, longest.Milliseconds())
	if worst != "" {
		return fmt.Errorf("%s%s", what, worst)
	}
	if asked < 20*len(counts) {
		return fmt.Errorf("%s: %d requests are no load", what, asked)
	}
	return nil
}
