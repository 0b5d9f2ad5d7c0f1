package worklist

import (
	"sync"
	"time"
)

const (
	// RecentFor is the maximum age of cached figures.
	RecentFor = 2 * time.Second
	// maxRecent is the maximum number of cached summaries. When it is reached, the cache is emptied.
	maxRecent = 10_000
)

// recentKey identifies users of a laboratory with the same figures.
type recentKey struct {
	labID int64
	sees  string
}

type recentSummary struct {
	Summary
	at time.Time
}

// recentSummaries caches the figures of boards.
type recentSummaries struct {
	mu  sync.Mutex
	all map[recentKey]recentSummary // guarded by mu
}

func (r *recentSummaries) find(key recentKey, now time.Time) (Summary, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	s, ok := r.all[key]
	return s.Summary, ok && now.Sub(s.at) < RecentFor
}

func (r *recentSummaries) keep(key recentKey, s Summary, now time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.all == nil || len(r.all) >= maxRecent {
		r.all = map[recentKey]recentSummary{}
	}
	r.all[key] = recentSummary{s, now}
}
