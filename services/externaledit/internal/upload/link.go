package upload

import (
	"context"
	"time"

	"github.com/labplatform/labplatform/pkg/apperr"
	"github.com/labplatform/labplatform/services/externaledit/internal/history"
	"github.com/labplatform/labplatform/services/externaledit/internal/session"
)

var errSwept = apperr.New(apperr.Unavailable, "UPLOAD_TOO_LONG",
	"The upload took too long and its files were removed; save the document again")

// link turns the upload into a revision, unless it repeats the Word document of the linked save.
func (s *saving) link(ctx context.Context, word, pdf session.Stored) (Saved, error) {
	revision := session.Revision{SessionID: s.sessionID, Number: s.upload.Number, Word: word, PDF: pdf}
	var saved Saved
	err := s.locked(ctx, func(l Locked, found session.Session, now time.Time) (err error) {
		saved, err = s.commit(ctx, l, found, now, &revision)
		s.warnings = found.Warnings()
		return err
	})
	if err != nil {
		return s.settle(ctx, err)
	}
	saved.Warnings = s.warnings
	if saved.Outcome == Unchanged {
		s.discard(ctx)
		return saved, nil
	}
	s.d.WakeRelay()
	return saved, nil
}

// commit writes the revision in the transaction, unless it repeats the Word document of the linked save.
func (s *saving) commit(
	ctx context.Context, l Locked, found session.Session, now time.Time, r *session.Revision,
) (Saved, error) {
	latest, err := l.Latest(ctx, &found)
	if err != nil {
		return Saved{}, err
	}
	found.Extend(now, s.d.Lifetime)
	if latest != nil && r.Repeats(latest) {
		return Saved{Files: latest.Files(), Outcome: Unchanged}, l.Update(ctx, &found)
	}
	taken, err := l.Take(ctx, s.upload.ID)
	if err != nil {
		return Saved{}, err
	}
	if !taken {
		return Saved{}, errSwept
	}
	r.UploadedBy, r.UploadedAt = found.Author, now
	linked, err := history.Append(ctx, l, &found, r, now)
	if linked {
		return Saved{Files: r.Files(), Outcome: Linked}, err
	}
	return Saved{Files: r.Files(), Outcome: Overtaken}, err
}

// settle determines the outcome of a transaction that ended with an error, because its commit may have succeeded while
// the response was lost. If the upload can still be abandoned, it was not linked.
func (s *saving) settle(ctx context.Context, cause error) (Saved, error) {
	asking, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanUpTimeout)
	defer cancel()
	linked, err := s.takeBack(asking)
	if err != nil {
		s.d.Counters.Uploaded(LeftBehind)
		return Saved{}, cause
	}
	if linked == nil {
		return Saved{}, cause
	}
	s.d.WakeRelay()
	return Saved{Files: linked.Files(), Outcome: Linked, Warnings: s.warnings}, nil
}
