package netguard

import (
	"net/http"
	"strconv"
	"time"
)

const maxRetryAfter = time.Hour

// RetryAfter reads the header's seconds or date, at most an hour; zero when there is none.
func RetryAfter(h http.Header, now time.Time) time.Duration {
	text := h.Get("Retry-After")
	if seconds, err := strconv.Atoi(text); err == nil {
		return min(time.Duration(max(seconds, 0))*time.Second, maxRetryAfter)
	}
	if at, err := http.ParseTime(text); err == nil {
		return min(max(0, at.Sub(now)), maxRetryAfter)
	}
	return 0
}
