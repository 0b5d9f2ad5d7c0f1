package main

import (
	"context"
	"errors"
	"os"
	"sync"
	"testing"
	"testing/synctest"
)

var errDead = errors.New("the process is dead")

// process dies before its nth step, or between a step and its result. After that it has no effect.
type process struct {
	mu              sync.Mutex
	dieBefore, step int
	died            string
	kill            func()
}

// dieNow makes the process die before its next step.
func (p *process) dieNow() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.dieBefore = p.step + 1
}

func (p *process) at() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.died
}

func (p *process) next(name string) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.died != "" {
		return errDead
	}
	if p.step++; p.step == p.dieBefore {
		p.died = name
		p.kill()
		return errDead
	}
	return nil
}

// do runs a step and returns its result, unless the process dies before or after the step.
func do[T any](p *process, name string, step func() (T, error)) (T, error) {
	var none T
	if err := p.next(name); err != nil {
		return none, err
	}
	out, err := step()
	if dead := p.next("answer to " + name); dead != nil {
		return none, dead
	}
	return out, err
}

func just(p *process, name string, step func() error) error {
	_, err := do(p, name, func() (struct{}, error) { return struct{}{}, step() })
	return err
}

// dying is the platform as seen by a process that dies.
type dying struct {
	platform
	p *process
}

func (d dying) create(ctx context.Context, report int64, key string, in creation) (opened, error) {
	return do(d.p, "create", func() (opened, error) { return d.platform.create(ctx, report, key, in) })
}

func (d dying) current(ctx context.Context, report int64, token string) (*revision, error) {
	return do(d.p, "look for the newest save", func() (*revision, error) { return d.platform.current(ctx, report, token) })
}

func (d dying) own(ctx context.Context, report int64) (*ownSession, error) {
	return do(d.p, "look for the own session", func() (*ownSession, error) { return d.platform.own(ctx, report) })
}

func (d dying) download(ctx context.Context, link, path string) error {
	return just(d.p, "download", func() error { return d.platform.download(ctx, link, path) })
}

func (d dying) heartbeat(ctx context.Context, id int64, token string) (string, error) {
	return do(d.p, "heartbeat", func() (string, error) { return d.platform.heartbeat(ctx, id, token) })
}

func (d dying) upload(ctx context.Context, id int64, token string, f files) (string, error) {
	return do(d.p, "upload", func() (string, error) { return d.platform.upload(ctx, id, token, f) })
}

func (d dying) end(ctx context.Context, id int64, token string) error {
	return just(d.p, "end", func() error { return d.platform.end(ctx, id, token) })
}

// mortal is the folder as seen by a process that dies.
type mortal struct {
	disk
	p *process
}

func (m mortal) write(j journal) error {
	return just(m.p, "write the journal", func() error { return m.disk.write(j) })
}

func (m mortal) place() error {
	return just(m.p, "replace the document", m.disk.place)
}

// TestCrashBetweenAnyTwoSteps kills the agent at every step of a day: open, two saves, end. The user continues to type.
// The same command must then save the last text in the report, end the session, and upload no text that was not typed.
func TestCrashBetweenAnyTwoSteps(t *testing.T) {
	t.Parallel()
	for _, previous := range []bool{false, true} { // true: a report with another user's save, in a used folder
		for n, alive := 1, false; !alive; n++ {
			synctest.Test(t, func(t *testing.T) { alive = crash(t, n, 0, previous) })
			if t.Failed() {
				return
			}
		}
	}
}

// TestCrashOfTheStartAfterACrash kills the agent at every step, and the next agent at every step of its start. The
// third one must recover.
func TestCrashOfTheStartAfterACrash(t *testing.T) {
	t.Parallel()
	const startSteps = 24
	for n, alive := 1, false; !alive; n++ {
		for again := 1; again <= startSteps && !t.Failed(); again++ {
			synctest.Test(t, func(t *testing.T) { alive = crash(t, n, again, true) })
		}
	}
}

// crash kills the agent before step n, and the next one before step again; 0 means never. alive reports that the first
// agent had fewer steps.
func crash(t *testing.T, n, again int, previous bool) (alive bool) {
	t.Helper()
	h := newHospital()
	u := newUser(t, h)
	if previous {
		u.start()
		u.types("our previous text")
		u.wantError(u.ctrlC(), nil)
		h.somebodyElse(7001, "B's work")
	}
	before := len(h.revisions)
	p := &process{dieBefore: n}
	u.start(p)
	typeOn(u, p, "ONE")
	typed := typeOn(u, p, "TWO")
	_ = u.ctrlC()
	if p.at() != "" && again > 0 {
		u.start(&process{dieBefore: again})
		_ = u.ctrlC()
	}
	if p.at() != "" && !typed {
		typed = started(u, previous)
		if typed {
			u.types("TWO")
		}
	}
	u.start()
	if !typed {
		u.types("TWO")
	}
	u.wantError(u.ctrlC(), nil)
	u.wantReport(7001, "TWO")
	if h.active(7001) != nil {
		t.Errorf("killed before %q: the session is still open", p.at())
	}
	for _, r := range h.revisions[before:] {
		if r.content != "ONE" && r.content != "TWO" {
			t.Errorf("killed before %q: %q was uploaded, which no one typed", p.at(), r.content)
		}
	}
	if again > 0 {
		return p.at() == ""
	}
	t.Logf("previous saves %-5t %2d dies before %-36q the report says %q after %d sessions and %d saves", previous, n, p.at(),
		h.content(7001), len(h.sessions), len(h.revisions)-before)
	return p.at() == ""
}

// typeOn writes the text while the agent is alive. It reports whether it did.
func typeOn(u *user, p *process, text string) bool {
	if p.at() != "" {
		return false
	}
	u.types(text)
	return true
}

// started reports whether the folder contains today's document. The user does not type into yesterday's.
func started(u *user, previous bool) bool {
	content, err := os.ReadFile(u.path())
	return err == nil && (!previous || string(content) != "our previous text")
}
