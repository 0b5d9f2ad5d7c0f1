package mysql

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/services/callout/internal/callout"
	"github.com/labplatform/labplatform/services/callout/internal/reach"
)

var (
	_ reach.Store   = (*Store)(nil)
	_ reach.Ledgers = (*Store)(nil)
)

// unsentWithin is how long after its statement an unsent notice is sent again.
const unsentWithin = 30 * 24 * time.Hour

// unsent selects the statements (alias s) of existing reports that the notification service did not accept.
const unsent = " FROM callout_statement s JOIN labReportRelation r ON r.id = s.lab_report_id AND r.labId_id = s.lab_id" +
	" WHERE s.not_sent = 1 AND s.said_at >= ?"

// Unreached returns a laboratory with unsent statements also with the reason type_off if the stored reason is another
// one by now.
func (s *Store) Unreached(ctx context.Context) (labs []reach.Lab, err error) {
	err = each(ctx, s.db, "read laboratories without notices", "SELECT lab_id, reason FROM callout_reach UNION SELECT e.lab_id, '' FROM"+
		" callout_episode e WHERE e.notices_off = 1 AND e.open_report_id IS NOT NULL AND e.lab_id NOT IN (SELECT lab_id FROM callout_reach)"+
		" UNION SELECT s.lab_id, ?"+unsent, []any{reach.TypeOff, s.clock.Now().Add(-unsentWithin).UnixMicro()},
		func(r *sql.Rows) error {
			var lab reach.Lab
			err := r.Scan(&lab.ID, &lab.Reason)
			labs = append(labs, lab)
			return err
		})
	return labs, err
}

// SetReach stores the reason. While notices cannot be sent, the stored time remains that of the first unsent notice.
func (s *Store) SetReach(ctx context.Context, scope authn.LabScope, reason string, since time.Time) error {
	if reason == "" {
		_, err := s.db.ExecContext(ctx, "DELETE FROM callout_reach WHERE lab_id = ?", scope.LabID())
		return wrap("clear reach", err)
	}
	_, err := s.db.ExecContext(ctx, "INSERT INTO callout_reach (lab_id, reason, since) VALUES (?, ?, ?)"+
		" ON DUPLICATE KEY UPDATE reason = VALUES(reason)", scope.LabID(), reason, since.UnixMicro())
	return wrap("set reach", err)
}

func (s *Store) Silenced(ctx context.Context, scope authn.LabScope) (ids []int64, err error) {
	err = each(ctx, s.db, "read silenced reports", "SELECT open_report_id AS id FROM callout_episode WHERE lab_id = ? AND notices_off = 1"+
		" AND open_report_id IS NOT NULL UNION SELECT r.id"+unsent+" AND s.lab_id = ? ORDER BY id",
		[]any{scope.LabID(), s.clock.Now().Add(-unsentWithin).UnixMicro(), scope.LabID()}, scanIDs(&ids))
	return ids, err
}

// Values of the column not_sent. 0: sent, or not known to be unsent.
const (
	notSent = 1
	void    = 2
)

// unmarkSilenced removes the marks of MarkSilenced. The mark of a notice becomes void.
func (l *locked) unmarkSilenced(ctx context.Context, d *callout.Decision) error {
	if !d.NoticesBack {
		return nil
	}
	_, err := l.tx.ExecContext(ctx, "UPDATE callout_episode SET notices_off = 0 WHERE open_report_id = ? AND lab_id = ?",
		d.Report.ID, l.scope.LabID())
	if err != nil {
		return wrap("unmark wait", err)
	}
	_, err = l.tx.ExecContext(ctx, "UPDATE callout_statement SET not_sent = IF(kind = 'notice', ?, 0)"+
		" WHERE lab_report_id = ? AND lab_id = ? AND not_sent = ?", void, d.Report.ID, l.scope.LabID(), notSent)
	return wrap("unmark statements", err)
}

// NoticesOff returns why notices of the laboratory cannot be sent, and since when. The reason is empty if they can.
func (s *Store) NoticesOff(ctx context.Context, scope authn.LabScope) (reason string, since time.Time, err error) {
	var at int64
	err = s.db.QueryRowContext(ctx, "SELECT reason, since FROM callout_reach WHERE lab_id = ?", scope.LabID()).Scan(&reason, &at)
	if errors.Is(err, sql.ErrNoRows) {
		return "", time.Time{}, nil
	}
	return reason, time.UnixMicro(at).UTC(), wrap("read reach", err)
}

// Said returns the ledger of a report and its open wait, which is nil if the report does not wait.
func (s *Store) Said(
	ctx context.Context, scope authn.LabScope, reportID int64,
) (callout.Ledger, *callout.Episode, error) {
	ledgers, err := s.ledgers(ctx, s.db, scope, []int64{reportID})
	if err != nil {
		return nil, nil, err
	}
	var wait *callout.Episode
	err = each(ctx, s.db, "read wait", episodeColumns+" JOIN labReportRelation r ON r.id = e.open_report_id WHERE e.open_report_id = ?"+
		" AND e.lab_id = ? AND r.dismissed = 0", []any{reportID, scope.LabID()}, func(r *sql.Rows) error {
		e, err := scanEpisode(r)
		wait = &e
		return err
	})
	return ledgers[reportID], wait, err
}

// MarkSilenced marks the wait of a notice that did not reach any device. If m.Log is set, it also marks the notice's
// statement as not sent.
func (s *Store) MarkSilenced(ctx context.Context, scope authn.LabScope, m reach.Missed) error {
	return s.inTx(ctx, "mark notice", scope, func(l *locked) error {
		_, err := l.tx.ExecContext(ctx, "UPDATE callout_episode SET notices_off = 1 WHERE open_report_id = ? AND lab_id = ?",
			m.ReportID, scope.LabID())
		if err != nil {
			return wrap("mark wait", err)
		}
		if m.Log == nil {
			return nil
		}
		_, err = l.tx.ExecContext(ctx, "UPDATE callout_statement SET not_sent = 1 WHERE lab_report_id = ? AND lab_id = ?"+
			" AND IF(? = '', statement_key = ?, takes_back = ?)", m.ReportID, scope.LabID(), m.Notice, m.Key, m.Notice)
		if err != nil {
			return wrap("mark statement", err)
		}
		return l.Log(ctx, *m.Log)
	})
}

func (s *Store) EscalatedOfBill(ctx context.Context, scope authn.LabScope, billID int64) (ids []int64, err error) {
	err = each(ctx, s.db, "read escalated reports", "SELECT r.id FROM callout_episode e JOIN labReportRelation r ON r.id = e.open_report_id"+
		" WHERE r.labId_id = ? AND r.billId_id = ? AND "+open+" AND e.escalations > 0 ORDER BY r.id",
		[]any{scope.LabID(), billID}, scanIDs(&ids))
	return ids, err
}

func (s *Store) WaitsUnconfirmed(
	ctx context.Context, scope authn.LabScope, reportID int64,
) (waits bool, err error) {
	err = s.db.QueryRowContext(ctx, "SELECT EXISTS (SELECT 1 FROM callout_unconfirmed n JOIN labReportRelation r ON r.id = n.lab_report_id"+
		" AND r.labId_id = n.lab_id WHERE n.lab_report_id = ? AND n.lab_id = ? AND n.readings IS NOT NULL AND r.dismissed = 0)",
		reportID, scope.LabID()).Scan(&waits)
	return waits, wrap("read unconfirmed values", err)
}
