package netguard

import (
	"errors"
	"net/http"
	"strconv"
	"time"
)

const maxRetryAfter = time.Hour

// RetryAfter returns the wait of the Retry-After header, in seconds or as a date, capped at an hour; zero if the header
// is missing or invalid.
func RetryAfter(h http.Header, now time.Time) time.Duration {
	text := h.Get("Retry-After")
	// A number that no integer holds is parsed as the largest integer, and numbers are capped before they are multiplied.
	if seconds, err := strconv.Atoi(text); err == nil || errors.Is(err, strconv.ErrRange) {
		return time.Duration(min(max(seconds, 0), int(maxRetryAfter/time.Second))) * time.Second
	}
	if at, err := http.ParseTime(text); err == nil {
		return min(max(0, at.Sub(now)), maxRetryAfter)
	}
	return 0
}
