// Package connect is a client of Kafka Connect's admin REST API: connectors, their states, configurations and offsets.
// Handling of failures is left to the caller.
package connect

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	"github.com/labplatform/labplatform/pkg/lifecycle"
)

const (
	readTimeout  = 15 * time.Second
	writeTimeout = 90 * time.Second // validating a configuration includes queries to the database
	maxBytes     = 16 << 20         // limit of a response
)

// A rebalancing worker returns 409; such requests are repeated.
const (
	busyTries = 8
	busyPause = 250 * time.Millisecond // doubled up to busyMost
	busyMost  = 4 * time.Second
)

var errSilent = errors.New("kafka connect does not answer")

// Config holds the addresses of the admin REST API.
type Config struct {
	URLs []string     // addresses of the workers, such as http://127.0.0.1:8083; unavailable workers are skipped
	HTTP *http.Client // nil: a default client
}

// Client sends requests to any worker of one cluster. It is safe for concurrent use.
type Client struct {
	workers []string
	next    atomic.Int64 // index in workers of the last one that responded
	http    *http.Client
}

// New returns a client. It does not connect.
func New(c Config) *Client {
	if c.HTTP == nil {
		c.HTTP = &http.Client{Timeout: writeTimeout}
	}
	client := &Client{http: c.HTTP}
	for _, address := range c.URLs {
		client.workers = append(client.workers, strings.TrimSuffix(address, "/"))
	}
	return client
}

// Statuses returns the states of all connectors by name.
func (c *Client) Statuses(ctx context.Context) (map[string]Status, error) {
	var answer map[string]struct {
		Status Status `json:"status"`
	}
	if err := c.get(ctx, "/connectors?expand=status", &answer); err != nil {
		return nil, fmt.Errorf("read the connectors' states: %w", err)
	}
	all := make(map[string]Status, len(answer))
	for name, a := range answer {
		all[name] = a.Status
	}
	return all, nil
}

// Configuration returns a connector's current configuration, which may contain the database password. It returns
// ErrUnknown if the connector does not exist.
func (c *Client) Configuration(ctx context.Context, name string) (map[string]string, error) {
	var configuration map[string]string
	if err := c.get(ctx, "/connectors/"+url.PathEscape(name)+"/config", &configuration); err != nil {
		return nil, fmt.Errorf("read the configuration of %s: %w", name, err)
	}
	return configuration, nil
}

// Configure creates or changes the connector. If the runtime rejects the configuration, the error is an *Invalid.
func (c *Client) Configure(ctx context.Context, name string, configuration map[string]string) error {
	body, err := json.Marshal(configuration)
	if err != nil {
		return fmt.Errorf("configure %s: %w", name, err)
	}
	err = c.call(ctx, writeTimeout, http.MethodPut, "/connectors/"+url.PathEscape(name)+"/config", body, nil)
	if err != nil {
		return fmt.Errorf("configure %s: %w", name, withoutSecrets(err, configuration))
	}
	return nil
}

// Restart restarts the connector and all its tasks, or only the failed ones. It does not wait until the restart has
// finished.
func (c *Client) Restart(ctx context.Context, name string, onlyFailed bool) error {
	path := fmt.Sprintf("/connectors/%s/restart?includeTasks=true&onlyFailed=%t", url.PathEscape(name), onlyFailed)
	if err := c.call(ctx, readTimeout, http.MethodPost, path, nil, nil); err != nil {
		return fmt.Errorf("restart %s: %w", name, err)
	}
	return nil
}

// Stop ends the connector's tasks. The connector stays stopped until Resume, even if workers restart.
func (c *Client) Stop(ctx context.Context, name string) error { return c.put(ctx, name, "stop") }

// Resume restarts a stopped or paused connector.
func (c *Client) Resume(ctx context.Context, name string) error { return c.put(ctx, name, "resume") }

func (c *Client) put(ctx context.Context, name, verb string) error {
	if err := c.call(ctx, readTimeout, http.MethodPut, "/connectors/"+url.PathEscape(name)+"/"+verb, nil,
		nil); err != nil {
		return fmt.Errorf("%s %s: %w", verb, name, err)
	}
	return nil
}

// Offsets returns the connector's position in its source as the runtime's JSON: a list of partition and offset.
func (c *Client) Offsets(ctx context.Context, name string) (json.RawMessage, error) {
	var answer struct {
		Offsets json.RawMessage `json:"offsets"`
	}
	if err := c.get(ctx, "/connectors/"+url.PathEscape(name)+"/offsets", &answer); err != nil {
		return nil, fmt.Errorf("read the offsets of %s: %w", name, err)
	}
	return answer.Offsets, nil
}

// Forget deletes the offsets of the connector, which must be stopped. After Resume it begins at the current end of the
// log.
func (c *Client) Forget(ctx context.Context, name string) error {
	if err := c.call(ctx, readTimeout, http.MethodDelete, "/connectors/"+url.PathEscape(name)+"/offsets", nil,
		nil); err != nil {
		return fmt.Errorf("delete the offsets of %s: %w", name, err)
	}
	return nil
}

func (c *Client) get(ctx context.Context, path string, answer any) error {
	return c.call(ctx, readTimeout, http.MethodGet, path, nil, answer)
}

// call sends a request, and repeats it while the worker is rebalancing.
func (c *Client) call(ctx context.Context, timeout time.Duration, method, path string, body []byte, answer any) error {
	pause := busyPause
	for try := 1; ; try++ {
		err := c.once(ctx, timeout, method, path, body, answer)
		if !errors.Is(err, ErrBusy) || try == busyTries {
			return err
		}
		if lifecycle.Pause(ctx, pause) != nil {
			return err
		}
		pause = min(2*pause, busyMost)
	}
}

// once sends a request to one worker after another until one responds. All requests are idempotent.
func (c *Client) once(ctx context.Context, timeout time.Duration, method, path string, body []byte, answer any) error {
	var err error
	for range c.workers {
		worker := c.next.Load()
		err = c.ask(ctx, timeout, method, c.workers[worker]+path, body, answer)
		if !errors.Is(err, errSilent) || ctx.Err() != nil {
			return err
		}
		c.next.CompareAndSwap(worker, (worker+1)%int64(len(c.workers)))
	}
	return err
}

func (c *Client) ask(
	ctx context.Context, timeout time.Duration, method, address string, body []byte, answer any,
) error {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, method, address, bytes.NewReader(body))
	if err != nil {
		return err
	}
	if body != nil {
		request.Header.Set("Content-Type", "application/json")
	}
	request.Header.Set("Accept", "application/json")
	response, err := c.http.Do(request)
	if err != nil {
		return fmt.Errorf("%w: %w", errSilent, err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(io.LimitReader(response.Body, maxBytes))
	if err != nil {
		return fmt.Errorf("kafka connect's answer broke off: %w", err)
	}
	if response.StatusCode >= http.StatusMultipleChoices {
		return refused(response.StatusCode, text)
	}
	if answer == nil {
		return nil
	}
	if err := json.Unmarshal(text, answer); err != nil {
		return fmt.Errorf("kafka connect's answer is not what it should be: %w", err)
	}
	return nil
}
