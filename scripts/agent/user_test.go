package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// user runs the agent in a folder and edits the document there.
type user struct {
	t        *testing.T
	hospital *hospital
	platform platform // the platform as the agent sees it
	dir      string
	report   int64
	keys     int
	convert  atomic.Pointer[func(context.Context) error]
	check    func(path string) (bool, error)
	final    bool
	takeOver bool

	said *paper
	stop context.CancelFunc
	done chan error
}

func newUser(t *testing.T, h *hospital) *user {
	t.Helper()
	u := &user{t: t, hospital: h, platform: h, dir: t.TempDir(), report: 7001, said: &paper{},
		check: func(string) (bool, error) { return false, nil }}
	u.converts(func(context.Context) error { return nil })
	return u
}

// converts replaces the converter.
func (u *user) converts(f func(context.Context) error) { u.convert.Store(&f) }

// paper is a buffer for concurrent writers.
type paper struct {
	mu   sync.Mutex
	text strings.Builder
}

func (p *paper) Write(text []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.text.Write(text)
}

func (p *paper) String() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.text.String()
}

// start runs the agent. pretend, if given, is a process that dies.
func (u *user) start(pretend ...*process) {
	u.t.Helper()
	ctx, stop := context.WithCancel(context.Background())
	a := &agent{platform: u.platform, disk: folder{u.dir}, report: u.report, creation: creation{TakeOver: u.takeOver},
		beats: time.Minute, poll: 500 * time.Millisecond, patience: lastSaveTimeout, out: u.said,
		slots: slots{filepath.Join(u.t.TempDir(), "slots")}, check: u.check, final: u.final,
		convert: func(ctx context.Context, _ slot, _ string) error { return (*u.convert.Load())(ctx) },
		newKey:  func() string { u.keys++; return fmt.Sprint("key ", u.keys) }}
	for _, p := range pretend {
		p.kill = stop
		a.platform, a.disk = dying{u.platform, p}, mortal{folder{u.dir}, p}
	}
	u.stop, u.done = stop, make(chan error, 1)
	go func() { u.done <- a.run(ctx) }()
	u.wait()
}

// wait lets the background work of ten virtual seconds happen.
func (u *user) wait() { time.Sleep(10 * time.Second) }

func (u *user) ctrlC() error {
	u.stop()
	return <-u.done
}

func (u *user) path() string { return filepath.Join(u.dir, documentName) }

func (u *user) types(text string) {
	u.t.Helper()
	if err := os.WriteFile(u.path(), []byte(text), 0o600); err != nil {
		u.t.Fatal(err)
	}
	u.wait()
}

func (u *user) wantDocument(want string) {
	u.t.Helper()
	if got, err := os.ReadFile(u.path()); err != nil || string(got) != want {
		u.t.Errorf("the document says %q, %v; want %q", got, err, want)
	}
}

func (u *user) wantReport(report int64, want string) {
	u.t.Helper()
	if got := u.hospital.content(report); got != want {
		u.t.Errorf("report %d says %q, want %q; the agent said\n%s", report, got, want, u.said)
	}
}

func (u *user) wantError(got, want error) {
	u.t.Helper()
	if !errors.Is(got, want) {
		u.t.Errorf("it ended with %v, want %v; the agent said\n%s", got, want, u.said)
	}
}
