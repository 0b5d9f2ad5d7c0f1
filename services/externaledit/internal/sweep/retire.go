package sweep

import (
	"context"
	"errors"

	"github.com/labplatform/labplatform/services/externaledit/internal/session"
)

// RetireOnce deletes the saves that the retention does not keep, if this process is the leader. In the same
// transaction, their files become those of an abandoned upload, so that a crash leaves no file without a row. RunOnce
// deletes the files.
func (s *Sweeper) RetireOnce(ctx context.Context) error {
	if s.d.Retention.KeepsAll() {
		return nil
	}
	return s.d.Store.Lead(ctx, s.retire)
}

func (s *Sweeper) retire(ctx context.Context) error {
	var problems []error
	for after := int64(0); ; {
		outdated, err := s.d.Store.Outdated(ctx, s.d.Retention, s.d.Clock.Now(), after, page)
		for _, o := range outdated {
			after = o.Revision.ID
			retired, err := s.retireOne(ctx, o)
			if retired || err != nil {
				problems = append(problems, s.count(Retired, err))
			}
		}
		if err != nil || len(outdated) < page {
			return errors.Join(append(problems, err)...)
		}
	}
}

// retireOne deletes one save. It skips saves whose files are in a replaced store, and reports that were deleted.
func (s *Sweeper) retireOne(ctx context.Context, o Outdated) (bool, error) {
	scope, err := scopeOf(o.LabID)
	if err != nil {
		return false, err
	}
	word, problem := s.d.Files.Parse(o.Revision.Word.URL)
	pdf, otherProblem := s.d.Files.Parse(o.Revision.PDF.URL)
	if problem != nil || otherProblem != nil {
		return false, nil //nolint:nilerr // the files are in a replaced store, so they cannot be deleted
	}
	retired, err := s.d.Store.Retire(ctx, scope, o, session.Upload{
		LabID: o.LabID, SessionID: o.Revision.SessionID, Number: o.Revision.Number, WordKey: word, PDFKey: pdf,
		StartedAt: s.d.Clock.Now(),
	})
	if errors.Is(err, session.ErrNoReport) {
		return false, nil
	}
	return retired, err
}
