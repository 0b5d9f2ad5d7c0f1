package netguard

import (
	"net/http"
	"strconv"
	"time"
)

const maxRetryAfter = time.Hour

// RetryAfter returns the wait of the Retry-After header, in seconds or as a date, capped at an hour; zero if the header
// is missing or invalid.
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
