package externaledit

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// listen opens streams of the first report's events, calls open, opens a session, and returns how many heard of it.
func (l *laboratory) listen(ctx context.Context, readers int, open func() error) (int, error) {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	transport := &http.Transport{MaxIdleConnsPerHost: readers}
	defer transport.CloseIdleConnections()
	client := &http.Client{Transport: transport}
	var connected, all sync.WaitGroup
	var heard atomic.Int64
	problems := make(chan error, readers)
	for i := range readers {
		connected.Add(1)
		all.Go(func() {
			if err := l.hear(ctx, client, i%l.sessions, connected.Done); err != nil {
				problems <- err
				return
			}
			heard.Add(1)
		})
	}
	connected.Wait()
	if err := open(); err != nil {
		return 0, err
	}
	if err := l.open(ctx, 0); err != nil {
		return 0, err
	}
	all.Wait()
	close(problems)
	for err := range problems {
		return int(heard.Load()), err
	}
	return int(heard.Load()), l.end(ctx, 0)
}

// hear follows one stream until a session was opened, as the user of session i: each may have twenty streams open. It
// calls connected once, whatever happens.
func (l *laboratory) hear(ctx context.Context, client *http.Client, i int, connected func()) error {
	told := false
	tell := func() {
		if !told {
			told = true
			connected()
		}
	}
	defer tell()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, fmt.Sprintf("%s%s/%d/events", l.base, prefix, l.first),
		nil)
	if err != nil {
		return err
	}
	request.Header.Set("Cookie", "sessionid="+l.user(i))
	response, err := client.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("events: %s", response.Status)
	}
	for lines := bufio.NewScanner(response.Body); lines.Scan(); {
		tell()
		if strings.HasPrefix(lines.Text(), "event: session_created") {
			return nil
		}
	}
	return errors.New("the stream of events ended")
}
