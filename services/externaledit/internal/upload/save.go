package upload

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/labplatform/labplatform/pkg/apperr"
	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/services/externaledit/document"
	"github.com/labplatform/labplatform/services/externaledit/internal/editing"
	"github.com/labplatform/labplatform/services/externaledit/internal/session"
)

// saving is one upload in progress.
type saving struct {
	*UseCase
	scope     authn.LabScope
	grant     session.Grant
	sessionID int64
	reportID  int64
	upload    session.Upload
	warnings  []string // from the last attempt to link
}

// Saved is the result of a save.
type Saved struct {
	session.Files

	Outcome  string   // one of Linked, Unchanged, Overtaken
	Warnings []string // points that the author has to check in the document
}

// Save stores both files of the form and links them to the report. If the Word document equals that of the linked save,
// the save only extends the session, unless an older save may still arrive. Errors: NotFound; Unauthenticated for an
// expired or revoked token; Forbidden for another session's token or an ended session; Conflict after the report was
// signed or dismissed, for another report or patient, and for tracked changes; TooManyRequests; Invalid for invalid
// files.
func (u *UseCase) Save(
	ctx context.Context, scope authn.LabScope, grant session.Grant, sessionID int64, form Form,
) (Saved, error) {
	s := &saving{UseCase: u, scope: scope, grant: grant, sessionID: sessionID}
	saved, err := s.run(ctx, form)
	if err != nil {
		saved.Outcome = failure(ctx, err)
	}
	u.d.Counters.Uploaded(saved.Outcome)
	return saved, err
}

func failure(ctx context.Context, err error) string {
	if ctx.Err() != nil {
		return Vanished
	}
	switch apperr.KindOf(err) {
	case apperr.Internal, apperr.Unavailable, apperr.DeadlineExceeded:
		return Failed
	case apperr.Canceled:
		return Vanished
	}
	return Refused
}

func (s *saving) run(ctx context.Context, form Form) (Saved, error) {
	if err := s.admit(ctx); err != nil {
		return Saved{}, err
	}
	if err := s.announce(ctx); err != nil {
		return Saved{}, err
	}
	word, pdf, err := s.receive(ctx, form)
	if err != nil {
		s.discard(ctx)
		return Saved{}, err
	}
	return s.link(ctx, word, pdf)
}

// admit checks the token and the rate limit before any of the body is read.
func (s *saving) admit(ctx context.Context) error {
	found, err := s.d.Reports.Session(ctx, s.scope, s.sessionID)
	if err != nil {
		return err
	}
	if err := s.grant.Check(&found, s.now()); err != nil {
		return err
	}
	s.reportID = found.ReportID
	return s.d.Limits.Upload(ctx, s.sessionID)
}

// announce assigns the save its number and stores the keys of its files.
func (s *saving) announce(ctx context.Context) error {
	return s.locked(ctx, func(l Locked, found session.Session, now time.Time) error {
		found.Reserved++
		if err := l.Update(ctx, &found); err != nil {
			return err
		}
		folder := fmt.Sprintf("external-edit/%d/%d/%d-%s/", s.reportID, s.sessionID, found.Reserved, s.d.NewID())
		s.upload = session.Upload{
			LabID: s.scope.LabID(), SessionID: s.sessionID, Number: found.Reserved, StartedAt: now,
			WordKey: s.d.Files.Key(s.scope, folder+document.Word.FileName), PDFKey: s.d.Files.Key(s.scope,
				folder+document.PDF.FileName),
		}
		return l.Announce(ctx, &s.upload)
	})
}

// locked runs work with the session under the report's lock if the session is active, its author may still edit, and
// the report may still change. If the author's permission was withdrawn, it ends the session and returns an error.
func (s *saving) locked(ctx context.Context, work func(l Locked, found session.Session, now time.Time) error) error {
	var ended *session.Session
	err := s.d.Reports.Lock(ctx, s.scope, s.reportID, func(l Locked) error {
		ended = nil // reset, because the transaction may be repeated
		now := s.now()
		found, err := l.Session(ctx, s.sessionID)
		if err != nil {
			return err
		}
		if err := s.grant.Check(&found, now); err != nil {
			return err
		}
		withdrawn, err := editing.Withdrawn(ctx, l, s.d.Logins, &found)
		if err != nil {
			return err
		}
		if withdrawn {
			ended = &found
			return editing.Close(ctx, l, ended, session.ByAdmin, now)
		}
		if err := l.Report().CheckLinkable(); err != nil {
			return err
		}
		if err := found.CheckPatient(); err != nil {
			return err
		}
		return work(l, found, now)
	})
	if err != nil || ended == nil {
		return err
	}
	s.d.WakeRelay()
	s.d.Counters.Ended(ended.End)
	return ended.CheckActive(s.now())
}

const cleanUpTimeout = 10 * time.Second

// discard deletes the files of a save that was not linked, even if ctx was cancelled. The sweeper deletes what it
// cannot.
func (s *saving) discard(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanUpTimeout)
	defer cancel()
	if _, err := s.takeBack(ctx); err != nil {
		s.d.Counters.Uploaded(LeftBehind)
		return
	}
	_ = s.release(ctx) // on failure, the numbers of the session's saves have a gap
}

// takeBack prevents the save from being linked and deletes its files. It returns the revision if the save was linked
// already. If the sweeper has abandoned the upload, the files are deleted as well, because some may have been stored
// since, and no row names them.
func (s *saving) takeBack(ctx context.Context) (*session.Revision, error) {
	abandoned, err := Discard(ctx, s.d.Reports, s.d.Files, s.scope, s.upload)
	if err != nil || abandoned {
		return nil, err
	}
	linked, err := s.d.Reports.Revision(ctx, s.scope, s.sessionID, s.upload.Number)
	if err != nil && !errors.Is(err, session.ErrNoRevision) {
		return nil, err
	}
	if err == nil && linked.Word.URL == s.d.Files.URL(s.upload.WordKey) { // numbers are reused, keys are not
		return &linked, nil
	}
	return nil, deleteBoth(ctx, s.d.Files, s.scope, s.upload)
}

// release makes the number of the save available again, unless a later upload began.
func (s *saving) release(ctx context.Context) error {
	return s.d.Reports.Lock(ctx, s.scope, s.reportID, func(l Locked) error {
		found, err := l.Session(ctx, s.sessionID)
		if err != nil || found.Reserved != s.upload.Number || found.Revision >= s.upload.Number {
			return err
		}
		found.Reserved--
		return l.Update(ctx, &found)
	})
}

// Eraser deletes objects of the file store.
type Eraser interface {
	Delete(ctx context.Context, scope authn.LabScope, key string) error
}

// Discard abandons an upload: it marks the row first, so that the files are not linked while they are deleted. It
// returns false if the upload was linked or discarded before.
func Discard(ctx context.Context, d Discards, files Eraser, scope authn.LabScope, u session.Upload) (bool, error) {
	abandoned, err := d.Abandon(ctx, scope, u.ID)
	if err != nil || !abandoned {
		return false, err
	}
	if err := deleteBoth(ctx, files, scope, u); err != nil {
		return true, err
	}
	return true, d.Forget(ctx, scope, u.ID)
}

func deleteBoth(ctx context.Context, files Eraser, scope authn.LabScope, u session.Upload) error {
	return errors.Join(files.Delete(ctx, scope, u.WordKey), files.Delete(ctx, scope, u.PDFKey))
}
