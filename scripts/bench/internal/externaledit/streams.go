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

// listen opens event streams of the first report, calls open, opens a session, and returns the number of streams that
// received its event.
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

// hear follows one stream, as the user of session i, until a session is opened; each user may have twenty streams. It
// always calls connected once.
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
