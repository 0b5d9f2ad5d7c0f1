package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"
)

// How a run that did not save everything ends; main gives each its exit code.
var (
	errLost      = errors.New("the session is not ours any more")
	errExpired   = errors.New("the session expired")
	errLoggedOut = errors.New("your login has ended")
	errNotSaved  = errors.New("the last save is NOT in the report")
)

// platform is external editing as the agent uses it.
type platform interface {
	// create opens a session; the same key again answers the same session.
	create(ctx context.Context, report int64, key string, in creation) (opened, error)
	// templates returns what a report without a save may begin with.
	templates(ctx context.Context) ([]wordTemplate, error)
	// own returns the report's active session if it is the user's, else nil.
	own(ctx context.Context, report int64) (*ownSession, error)
	// current returns the save that is the report's, nil before the first; token "" asks as the user.
	current(ctx context.Context, report int64, token string) (*revision, error)
	download(ctx context.Context, link, path string) error
	heartbeat(ctx context.Context, id int64, token string) (string, error)
	upload(ctx context.Context, id int64, token string, f files) (string, error)
	end(ctx context.Context, id int64, token string) error
}

// disk keeps the document and the journal.
type disk interface {
	document() string
	download() string
	read() (*journal, error)
	write(j journal) error
	place() error
}

// agent edits one report.
type agent struct {
	platform platform
	disk     disk
	report   int64
	creation creation // of a report without a save
	beats    time.Duration
	poll     time.Duration
	patience time.Duration // of the last save, after Ctrl-C
	slots    slots
	check    func(word string) (tracked bool, err error)
	final    bool // tracked changes are shown as accepted in the PDF
	convert  func(ctx context.Context, s slot, word string) error
	newKey   func() string
	out      io.Writer

	saver saver

	mu      sync.Mutex
	journal journal         // guarded by mu
	warned  map[string]bool // texts that were shown; guarded by mu
}

func (a *agent) say(format string, args ...any) {
	fmt.Fprintf(a.out, "%s  %s\n", time.Now().Format("15:04:05"), fmt.Sprintf(format, args...))
}

// warn shows a warning of the platform once: every sign of life repeats it.
func (a *agent) warn(text string) {
	a.mu.Lock()
	known := a.warned[text]
	if a.warned == nil {
		a.warned = map[string]bool{}
	}
	a.warned[text] = true
	a.mu.Unlock()
	if !known {
		a.say("CHECK THE DOCUMENT: %s", text)
	}
}

// known returns the journal as it is now.
func (a *agent) known() journal {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.journal
}

// note changes the journal, on the disk first.
func (a *agent) note(change func(*journal)) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	j := a.journal
	change(&j)
	if err := a.disk.write(j); err != nil {
		return err
	}
	a.journal = j
	return nil
}

// run works until ctx ends; then it saves what was not saved and ends the session. The errors errLost and errNotSaved
// leave the document and the journal where they are.
func (a *agent) run(ctx context.Context) error {
	dir := filepath.Dir(a.disk.document())
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	unlock, err := lockFolder(dir, a.say)
	if err != nil {
		return err
	}
	defer unlock()
	a.slots.sweep()
	if err := a.begin(ctx); err != nil {
		return err
	}
	a.say("edit %s; every save is uploaded; Ctrl-C ends the session", a.disk.document())
	for {
		err := a.work(ctx)
		if !errors.Is(err, errExpired) || ctx.Err() != nil {
			return err
		}
		if err := a.reopen(ctx); err != nil {
			return err
		}
	}
}

// work uploads every save of the session until ctx ends, then the last one, and ends the session.
func (a *agent) work(ctx context.Context) error {
	working, lose := context.WithCancelCause(context.WithoutCancel(ctx))
	defer lose(nil)
	defer context.AfterFunc(ctx, func() { time.AfterFunc(a.patience, func() { lose(errStopped) }) })()
	beating, stop := context.WithCancel(working)
	var beats sync.WaitGroup
	beats.Go(func() { a.keepAlive(beating, lose) })
	rest := func() { // a beat that comes later would note the token of this session in the journal of the next
		stop()
		beats.Wait()
	}
	defer rest()
	if err := a.watch(ctx, working); err != nil {
		return err
	}
	if err := a.lastSave(working); err != nil {
		return err
	}
	rest()
	j := a.known()
	ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), endTimeout)
	defer cancel()
	if err := a.platform.end(ending, j.EditID, j.Token); err != nil {
		return fmt.Errorf("everything is saved, but the session could not be ended: %w; start again to end it", err)
	}
	a.say("session %d has ended", j.EditID)
	return a.note(func(j *journal) { j.Ended = true })
}

// watch uploads every save until ctx ends, or working does because the session is lost.
func (a *agent) watch(ctx, working context.Context) error {
	look := time.NewTicker(a.poll)
	defer look.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-working.Done():
			if cause := context.Cause(working); !errors.Is(cause, errStopped) {
				return cause
			}
			return nil
		case <-look.C:
		}
		if err := a.saveIfDue(working); errors.Is(err, errLost) || errors.Is(err, errExpired) {
			return err
		}
	}
}

// errStopped ends the last save.
var errStopped = errors.New("it was not finished when the agent was stopped")

// lastSave saves until everything is saved, it is refused, or working ends.
func (a *agent) lastSave(working context.Context) error {
	for {
		sum, err := hash(a.disk.document())
		if errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("%w: %w, and start the same command again", errNotSaved, a.unreadable(err))
		}
		if err == nil && sum == a.known().Saved {
			return nil
		}
		if err == nil {
			err = a.save(working)
		}
		if err == nil {
			continue // the document may have changed meanwhile
		}
		cause := context.Cause(working)
		if errors.Is(cause, errLost) || errors.Is(cause, errExpired) {
			return cause
		}
		wait, again := patience(err, time.Second)
		if errors.Is(err, errLost) || !again {
			return fmt.Errorf("%w: %w", errNotSaved, err)
		}
		if cause != nil {
			err = cause
		}
		select {
		case <-working.Done():
			return fmt.Errorf("%w: %w; it is kept in %s and sent when you start the same command again", errNotSaved, err,
				a.disk.document())
		case <-time.After(wait):
		}
	}
}
