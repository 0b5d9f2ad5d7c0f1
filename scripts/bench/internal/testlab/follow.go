package testlab

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"strings"
	"time"
)

// longestFollowed is the time after which a stream without the awaited event is ended.
const longestFollowed = 2 * time.Minute

// Follow reads a stream of server-sent events and calls hear with each event and its data until hear returns true. It
// calls connected after the first line.
func (l *Lab) Follow(
	ctx context.Context,
	session, path string,
	connected func(),
	hear func(event, data string) bool,
) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, l.gateway+path, nil)
	if err != nil {
		return err
	}
	request.Header.Set("Cookie", "sessionid="+session)
	client := &http.Client{Transport: &http.Transport{}}
	defer client.CloseIdleConnections()
	response, err := client.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %s", path, response.Status)
	}
	lines := bufio.NewScanner(response.Body)
	lines.Buffer(nil, 16<<20)
	event := ""
	for n := 0; lines.Scan(); n++ {
		if n == 0 {
			connected()
		}
		name, value, _ := strings.Cut(lines.Text(), ": ")
		switch name {
		case "event":
			event = value
		case "data":
			if hear(event, value) {
				return nil
			}
		}
	}
	return fmt.Errorf("%s ended early: %w", path, context.Cause(ctx))
}

// FollowAll opens the given number of streams, runs work once all are connected, and waits until each has received
// enough. Each stream has a session and a listener of its own.
func (l *Lab) FollowAll(
	ctx context.Context,
	streams int,
	path string,
	session func(i int) string,
	hear func(i int) func(event, data string) bool,
	work func() error,
) error {
	ctx, cancel := context.WithTimeout(ctx, longestFollowed)
	defer cancel()
	connected, ended := make(chan struct{}, streams), make(chan error, streams)
	for i := range streams {
		go func() {
			ended <- l.Follow(ctx, session(i), path, func() { connected <- struct{}{} }, hear(i))
		}()
	}
	for range streams {
		select {
		case <-connected:
		case err := <-ended:
			return fmt.Errorf("a stream ended before the work: %w", err)
		}
	}
	if err := work(); err != nil {
		return err
	}
	for range streams {
		if err := <-ended; err != nil {
			return err
		}
	}
	return nil
}
