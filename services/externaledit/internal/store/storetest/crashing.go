package storetest

import (
	"context"
	"errors"
	"io"
	"sync"

	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/services/externaledit/internal/session"
	"github.com/labplatform/labplatform/services/externaledit/internal/upload"
)

// ErrDead is the error of every step after a simulated crash.
var ErrDead = errors.New("the process is dead")

// Process simulates a process that crashes before its nth call of a store. Every later call fails, including clean-up.
// DieBefore 0 means never. The database rolls back a transaction that was not committed.
type Process struct {
	DieBefore int

	mu   sync.Mutex
	step int
	at   string
}

// Died returns the step before which the process crashed, or "".
func (p *Process) Died() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.at
}

func (p *Process) next(name string) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.at != "" {
		return ErrDead
	}
	if p.step++; p.step == p.DieBefore {
		p.at = name
		return ErrDead
	}
	return nil
}

func do[T any](p *Process, name string, step func() (T, error)) (T, error) {
	if err := p.next(name); err != nil {
		var none T
		return none, err
	}
	return step()
}

func just(p *Process, name string, step func() error) error {
	if err := p.next(name); err != nil {
		return err
	}
	return step()
}

// CrashingReports is an upload.Reports that may crash before each call.
type CrashingReports struct {
	upload.Reports
	P *Process
}

// Session crashes or calls Reports.Session.
func (r CrashingReports) Session(ctx context.Context, scope authn.LabScope, id int64) (session.Session, error) {
	return do(r.P, "read session", func() (session.Session, error) { return r.Reports.Session(ctx, scope, id) })
}

// Revision crashes or calls Reports.Revision.
func (r CrashingReports) Revision(
	ctx context.Context, scope authn.LabScope, id, number int64,
) (session.Revision, error) {
	return do(r.P, "look for the revision", func() (session.Revision,
		error) {
		return r.Reports.Revision(ctx, scope, id, number)
	})
}

// Abandon crashes or calls Reports.Abandon.
func (r CrashingReports) Abandon(ctx context.Context, scope authn.LabScope, id int64) (bool, error) {
	return do(r.P, "abandon upload", func() (bool, error) { return r.Reports.Abandon(ctx, scope, id) })
}

// Forget crashes or calls Reports.Forget.
func (r CrashingReports) Forget(ctx context.Context, scope authn.LabScope, id int64) error {
	return just(r.P, "forget upload", func() error { return r.Reports.Forget(ctx, scope, id) })
}

// Lock may crash before the row is locked, before each step, before the commit, and after the commit before its
// response.
func (r CrashingReports) Lock(
	ctx context.Context, scope authn.LabScope, id int64, work func(upload.Locked) error,
) error {
	err := just(r.P, "lock row", func() error {
		return r.Reports.Lock(ctx, scope, id, func(l upload.Locked) error {
			if err := work(crashingLocked{l, r.P}); err != nil {
				return err
			}
			return r.P.next("commit")
		})
	})
	if err != nil {
		return err
	}
	return r.P.next("answer of the commit")
}

type crashingLocked struct {
	upload.Locked
	p *Process
}

func (l crashingLocked) Session(ctx context.Context, id int64) (session.Session, error) {
	return do(l.p, "read session under the lock", func() (session.Session, error) { return l.Locked.Session(ctx, id) })
}

func (l crashingLocked) Update(ctx context.Context, s *session.Session) error {
	return just(l.p, "update session", func() error { return l.Locked.Update(ctx, s) })
}

func (l crashingLocked) Emit(ctx context.Context, e session.Event) error {
	return just(l.p, "emit", func() error { return l.Locked.Emit(ctx, e) })
}

func (l crashingLocked) Announce(ctx context.Context, u *session.Upload) error {
	return just(l.p, "announce upload", func() error { return l.Locked.Announce(ctx, u) })
}

func (l crashingLocked) Take(ctx context.Context, id int64) (bool, error) {
	return do(l.p, "take upload", func() (bool, error) { return l.Locked.Take(ctx, id) })
}

func (l crashingLocked) Latest(ctx context.Context, s *session.Session) (*session.Revision, error) {
	return do(l.p, "read latest revision", func() (*session.Revision, error) { return l.Locked.Latest(ctx, s) })
}

func (l crashingLocked) AddRevision(ctx context.Context, r *session.Revision) error {
	return just(l.p, "add revision", func() error { return l.Locked.AddRevision(ctx, r) })
}

func (l crashingLocked) LinkFiles(ctx context.Context, f session.Files) error {
	return just(l.p, "link files", func() error { return l.Locked.LinkFiles(ctx, f) })
}

// CrashingFiles is an upload.Files that may crash before each call.
type CrashingFiles struct {
	upload.Files
	P *Process
}

// Put may crash before the object is stored, and after that before its response.
func (f CrashingFiles) Put(
	ctx context.Context, scope authn.LabScope, key, contentType string, source io.Reader,
) (int64, error) {
	n, err := do(f.P, "put", func() (int64, error) { return f.Files.Put(ctx, scope, key, contentType, source) })
	if err != nil {
		return 0, err
	}
	return n, f.P.next("answer of the put")
}

// Open crashes or calls Files.Open.
func (f CrashingFiles) Open(
	ctx context.Context, scope authn.LabScope, key string, offset, length int64,
) (io.ReadCloser, error) {
	return do(f.P, "read stored file", func() (io.ReadCloser,
		error) {
		return f.Files.Open(ctx, scope, key, offset, length)
	})
}

// Delete crashes or calls Files.Delete.
func (f CrashingFiles) Delete(ctx context.Context, scope authn.LabScope, key string) error {
	return just(f.P, "delete object", func() error { return f.Files.Delete(ctx, scope, key) })
}
