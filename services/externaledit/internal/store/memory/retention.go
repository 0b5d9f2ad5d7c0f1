package memory

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/services/externaledit/internal/session"
	"github.com/labplatform/labplatform/services/externaledit/internal/sweep"
)

func (s *Store) Outdated(
	_ context.Context, r session.Retention, now time.Time, after int64, limit int,
) ([]sweep.Outdated, error) {
	return read(s, func(st state) ([]sweep.Outdated, error) {
		var outdated []sweep.Outdated
		for _, id := range slices.Sorted(maps.Keys(st.revisions)) {
			revision := st.revisions[id]
			of := st.sessions[revision.SessionID]
			newer := 0
			for _, other := range st.revisions {
				if other.ID > id && st.sessions[other.SessionID].ReportID == of.ReportID {
					newer++
				}
			}
			linked := st.reports[of.ReportID].Files.Word == revision.Word.URL
			old := revision.UploadedAt.Before(now.Add(-r.Age))
			if id > after && old && !linked && newer >= r.Newest && len(outdated) < limit {
				outdated = append(outdated, sweep.Outdated{LabID: of.LabID, ReportID: of.ReportID, Revision: revision})
			}
		}
		return outdated, nil
	})
}

func (s *Store) Retire(
	ctx context.Context, scope authn.LabScope, o sweep.Outdated, files session.Upload,
) (retired bool, err error) {
	err = s.lock(scope, o.ReportID, func(l *locked) error {
		if retired = l.report.Files.Word != o.Revision.Word.URL; !retired {
			return nil
		}
		delete(l.state.revisions, o.Revision.ID)
		if _, err := l.Holding(ctx, o.Revision.Files()); err == nil {
			return nil // a restored save has the same files
		}
		if err := l.Announce(ctx, &files); err != nil {
			return err
		}
		l.state.uploads[files.ID] = announced{files, true}
		return nil
	})
	return retired, err
}
