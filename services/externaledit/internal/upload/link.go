package upload

import (
	"context"

	"github.com/labplatform/labplatform/pkg/apperr"
	"github.com/labplatform/labplatform/services/externaledit/internal/session"
)

var errSwept = apperr.New(apperr.Unavailable, "UPLOAD_TOO_LONG",
	"The upload took too long and its files were removed; save the document again")

// link turns the upload into a revision, or finds that it is the linked save again.
func (s *saving) link(ctx context.Context, word, pdf session.Stored) (session.Files, error) {
	revision := session.Revision{SessionID: s.sessionID, Number: s.upload.Number, Word: word, PDF: pdf}
	var repeated *session.Revision
	err := s.d.Reports.Lock(ctx, s.scope, s.reportID, func(l Locked) (err error) {
		repeated, err = s.commit(ctx, l, &revision)
		return err
	})
	if err != nil {
		return s.settle(ctx, err)
	}
	if repeated != nil {
		s.outcome = Unchanged
		s.discard(ctx)
		return repeated.Files(), nil
	}
	s.d.Wake()
	return revision.Files(), nil
}

// commit writes the revision within the transaction. It returns the linked save when that has the same content.
func (s *saving) commit(ctx context.Context, l Locked, r *session.Revision) (*session.Revision, error) {
	now := s.now()
	found, err := s.editable(ctx, l, now)
	if err != nil {
		return nil, err
	}
	latest, err := l.Latest(ctx, &found)
	if err != nil {
		return nil, err
	}
	found.Extend(now, s.d.TTL)
	if latest != nil && latest.SameContent(r.Word, r.PDF) {
		return latest, l.Update(ctx, &found)
	}
	if taken, err := l.Take(ctx, s.upload.ID); err != nil || !taken {
		return nil, orSwept(err)
	}
	r.UploadedBy, r.UploadedAt = found.Author, now
	if err := l.AddRevision(ctx, r); err != nil {
		return nil, err
	}
	if s.outcome = Overtaken; found.Link(r, now) {
		s.outcome = Linked
		if err := l.LinkFiles(ctx, found.Files); err != nil {
			return nil, err
		}
		if err := l.Emit(ctx, session.Event{Name: session.FilesUploaded, Session: found}); err != nil {
			return nil, err
		}
	}
	return nil, l.Update(ctx, &found)
}

func orSwept(err error) error {
	if err != nil {
		return err
	}
	return errSwept
}

// settle finds out what became of a transaction that ended with an error: its commit may have happened without an
// answer. An upload that can still be abandoned was not linked.
func (s *saving) settle(ctx context.Context, cause error) (session.Files, error) {
	asking, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanUpTimeout)
	defer cancel()
	abandoned, err := Discard(asking, s.d.Reports, s.d.Files, s.scope, s.upload)
	switch {
	case err != nil:
		s.d.Counters.Uploaded(LeftBehind)
		return session.Files{}, cause
	case abandoned:
		return session.Files{}, cause
	}
	revision, err := s.d.Reports.Revision(asking, s.scope, s.sessionID, s.upload.Number)
	if err != nil {
		return session.Files{}, cause
	}
	s.d.Wake()
	s.outcome = Linked
	return revision.Files(), nil
}
