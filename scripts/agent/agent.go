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

// Errors of a run that did not save everything; main maps each to an exit code.
var (
	errLost      = errors.New("the session is not ours any more")
	errExpired   = errors.New("the session expired")
	errLoggedOut = errors.New("your login has ended")
	errNotSaved  = errors.New("the last save is NOT in the report")
)

// platform is the REST interface of external editing.
type platform interface {
	// create opens a session; a repeat with the same key returns the same session.
	create(ctx context.Context, report int64, key string, in creation) (opened, error)
	// templates returns the templates that a report without a save may begin with.
	templates(ctx context.Context) ([]wordTemplate, error)
	// own returns the report's active session if it belongs to the user, nil otherwise.
	own(ctx context.Context, report int64) (*ownSession, error)
	// current returns the save that the report shows, nil before the first. An empty token sends the user's credential.
	current(ctx context.Context, report int64, token string) (*revision, error)
	download(ctx context.Context, link, path string) error
	heartbeat(ctx context.Context, id int64, token string) (string, error)
	upload(ctx context.Context, id int64, token string, f files) (string, error)
	end(ctx context.Context, id int64, token string) error
}

// disk stores the document and the journal.
type disk interface {
	document() string
	download() string
	read() (*journal, error)
	write(j journal) error
	place() error
}

// agent edits one report: it keeps the session alive and uploads every save.
type agent struct {
	platform platform
	disk     disk
	report   int64
	creation creation // used for a report without a save
	beats    time.Duration
	poll     time.Duration
	patience time.Duration // time limit of the last save, after Ctrl-C
	slots    slots
	check    func(word string) (tracked bool, err error)
	final    bool // show tracked changes as accepted in the PDF
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

// warn shows a warning of the platform once; every heartbeat repeats it.
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

func (a *agent) known() journal {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.journal
}

// note changes the journal, first on the disk, then in memory.
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

// run works until ctx ends, then uploads an unsaved document and ends the session. After errLost and errNotSaved the
// document and the journal remain.
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
	rest := func() { // a later heartbeat would write this session's token into the journal of the next session
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

// watch uploads every save until ctx ends, or until working ends because the session is lost.
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

// errStopped cancels the last save when its time is over.
var errStopped = errors.New("it was not finished when the agent was stopped")

// lastSave uploads until everything is saved, the platform refuses the document, or working ends.
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
