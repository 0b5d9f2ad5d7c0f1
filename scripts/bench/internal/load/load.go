// Package load makes calls as the users of a busy laboratory do: in a closed loop, in which each caller makes its next
// call once the previous one is answered, or at an even pace, whether or not earlier calls were answered.
package load

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"time"
)

// Get sends total GET requests over the given number of connections and checks that each response is 200 with a body
// that ok accepts. It returns the total duration.
func Get(ctx context.Context, url string, connections, total int, ok func(body []byte) bool) (time.Duration, error) {
	transport := &http.Transport{MaxIdleConnsPerHost: connections, MaxConnsPerHost: connections}
	defer transport.CloseIdleConnections()
	client := &http.Client{Transport: transport, Timeout: 10 * time.Second}
	start := time.Now()
	err := Each(total, connections, func(int) error { return get(ctx, client, url, ok) })
	return time.Since(start), err
}

func get(ctx context.Context, client *http.Client, url string, ok func([]byte) bool) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	request.Header.Set("Cookie", "sessionid=bench")
	response, err := client.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		return err
	}
	if response.StatusCode != http.StatusOK || !ok(body) {
		return fmt.Errorf("wrong answer: %d %.200s", response.StatusCode, body)
	}
	return nil
}
