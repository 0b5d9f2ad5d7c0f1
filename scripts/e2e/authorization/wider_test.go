package authorization

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// TestNoCellBecomesWiderWhileThingsBreak sends the requests that the table refuses, and the lists, while services die
// and engines freeze. Requests may fail in other ways than usual, but a refused one must not succeed, and a list must
// not show more.
func TestNoCellBecomesWiderWhileThingsBreak(t *testing.T) {
	rows, columns, err := peopleTable()
	if err != nil {
		t.Fatal(err)
	}
	cells, _ := cellsOf(rows, columns)
	cells = slices.DeleteFunc(cells, func(c cell) bool {
		r := requests[c.operation]
		return r.kind&stream != 0 || c.owner >= 0 && !c.refused()
	})
	apply(t, owners)
	ctx, repair := context.WithCancel(t.Context())
	var faults, failed atomic.Int64
	repaired := make(chan error, 1)
	go func() { repaired <- breakInTurns(ctx, &faults) }()
	var wider []string
	rounds, parts := 0, int64(len(platform.Endpoints.Commands))
	for ; faults.Load() < parts && len(repaired) == 0; rounds++ { // until each part has failed once
		wider = append(wider, each(cells, func(c cell) string {
			status, body := c.send(t)
			if status == 0 || status >= http.StatusInternalServerError {
				failed.Add(1)
			}
			return c.widerBy(status, body)
		})...)
	}
	repair()
	if err := <-repaired; err != nil {
		t.Fatal(err)
	}
	for _, line := range wider {
		t.Error(line)
	}
	t.Logf("%d cells sent %d times during %d faults; %d requests failed, %d cells are wider", len(cells), rounds,
		faults.Load(), failed.Load(), len(wider))
	if failed.Load() == 0 {
		t.Error("nothing broke")
	}
}

// refused reports whether the table refuses this request.
func (c cell) refused() bool { return strings.ContainsAny(c.letters[:1], "01349") }

func (c cell) widerBy(status int, body string) string {
	if status != http.StatusOK {
		return ""
	}
	if c.refused() {
		return fmt.Sprintf("%s as %s is answered: %.300s", c.operation, c.login, body)
	}
	for i, o := range owners {
		if c.owner < 0 && c.letters[i] == '.' && strings.Contains(body, o.word) {
			return fmt.Sprintf("%s as %s shows %s", c.operation, c.login, o.word)
		}
	}
	return ""
}

// breakInTurns kills services and freezes engines one by one, each for one and a half seconds, until ctx ends.
func breakInTurns(ctx context.Context, faults *atomic.Int64) error {
	names := slices.Sorted(maps.Keys(platform.Endpoints.Commands))
	for n := 0; ctx.Err() == nil; n++ {
		name := names[n%len(names)]
		begin := func() error { return platform.Signal(name, syscall.SIGSTOP) }
		end := func() error { return platform.Signal(name, syscall.SIGCONT) }
		if slices.Contains(platform.Endpoints.Commands[name], "serve") {
			begin = func() error { return platform.Kill(name) }
			end = func() error { return platform.Start(name, nil) }
		}
		if err := begin(); err != nil {
			return err
		}
		select { // the part is restored even if ctx has ended
		case <-ctx.Done():
		case <-time.After(1500 * time.Millisecond):
		}
		faults.Add(1)
		if err := end(); err != nil {
			return fmt.Errorf("fix %s: %w", name, err)
		}
	}
	return nil
}
