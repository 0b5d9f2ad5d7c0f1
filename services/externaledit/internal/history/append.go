package history

import (
	"context"
	"time"

	"github.com/labplatform/labplatform/services/externaledit/internal/session"
)

// Appender is the part of a locked report that Append needs.
type Appender interface {
	// AddRevision stores a save and sets its id.
	AddRevision(ctx context.Context, r *session.Revision) error
	Update(ctx context.Context, s *session.Session) error
	// LinkFiles links the files to the report.
	LinkFiles(ctx context.Context, f session.Files) error
	Emit(ctx context.Context, e session.Event) error
}

// Append stores a save of the session and links its files to the report, unless a newer save is linked already. It
// reports whether it linked them. It also stores the changed session.
func Append(
	ctx context.Context, l Appender, s *session.Session, r *session.Revision, now time.Time,
) (linked bool, err error) {
	if err := l.AddRevision(ctx, r); err != nil {
		return false, err
	}
	linked = s.Link(r, now)
	if err := l.Update(ctx, s); err != nil || !linked {
		return false, err
	}
	if err := l.LinkFiles(ctx, s.Files); err != nil {
		return false, err
	}
	return true, l.Emit(ctx, session.Event{Name: session.FilesUploaded, Session: *s})
}
