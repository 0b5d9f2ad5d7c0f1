package mysql

import (
	"context"
	"database/sql"
	"errors"
	"strconv"
	"strings"

	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/services/callout/internal/callout"
	"github.com/labplatform/labplatform/services/callout/internal/claim"
)

// claimColumns selects the claim of a wait and the database's time, because all processes share that clock.
const claimColumns = "e.claimed_by, e.claimed_name, e.claimed_at, e.claimed_until, CAST(UNIX_TIMESTAMP(NOW(3)) * 1000 AS SIGNED)"

type claimRow struct {
	by, name  sql.NullString
	at, until sql.NullInt64
	now       int64
}

func (r *claimRow) into() []any { return []any{&r.by, &r.name, &r.at, &r.until, &r.now} }

func (r *claimRow) facts() claim.Facts {
	f := claim.Facts{Now: at(r.now)}
	if !r.by.Valid || r.until.Int64 <= r.now {
		return f
	}
	kind, id, _ := strings.Cut(r.by.String, ":")
	number, _ := strconv.ParseInt(id, 10, 64)
	f.Held = claim.Claim{
		By:    authn.Actor{Kind: authn.ActorKind(kind), ID: number, Name: r.name.String},
		Since: at(r.at.Int64), Until: at(r.until.Int64),
	}
	return f
}

// claimant formats an actor for the column claimed_by.
func claimant(a authn.Actor) string { return string(a.Kind) + ":" + strconv.FormatInt(a.ID, 10) }

func (s *Store) ChangeClaim(
	ctx context.Context, scope authn.LabScope, reportID int64, v callout.Visibility,
	decide func(claim.Facts) (claim.Claim, error),
) (wanted claim.Claim, err error) {
	condition, args := visible(v)
	args = append([]any{scope.LabID(), reportID}, args...)
	err = s.inTx(ctx, "change claim", scope, func(l *locked) error {
		if err := l.lockReports(ctx, []int64{reportID}); err != nil {
			return err
		}
		var row claimRow
		err := l.tx.QueryRowContext(ctx, "SELECT "+claimColumns+" FROM labReportRelation r JOIN callout_episode e"+
			" ON e.open_report_id = r.id LEFT JOIN AllTests t ON t.id = r.reportID_id WHERE r.labId_id = ? AND r.id = ? AND "+
			open+condition, args...).Scan(row.into()...)
		if errors.Is(err, sql.ErrNoRows) {
			return claim.ErrNotWaiting
		}
		if err != nil {
			return wrap("read claim", err)
		}
		if wanted, err = decide(row.facts()); err != nil {
			return err
		}
		return l.saveClaim(ctx, reportID, wanted)
	})
	return wanted, err
}

func (l *locked) saveClaim(ctx context.Context, reportID int64, c claim.Claim) error {
	by := sql.NullString{String: claimant(c.By), Valid: !c.Until.IsZero()}
	name := sql.NullString{String: c.By.Name, Valid: by.Valid}
	_, err := l.tx.ExecContext(ctx, "UPDATE callout_episode SET claimed_by = ?, claimed_name = ?, claimed_at = ?, claimed_until = ?"+
		" WHERE open_report_id = ? AND lab_id = ?", by, name, milliseconds(c.Since), milliseconds(c.Until), reportID, l.scope.LabID())
	return wrap("save claim", err)
}

// endClaim ends the claim of the person who recorded a call or an attempt. The claim of another person stays.
func (l *locked) endClaim(ctx context.Context, reportID int64, by authn.Actor) error {
	_, err := l.tx.ExecContext(ctx, "UPDATE callout_episode SET claimed_by = NULL, claimed_name = NULL, claimed_at = NULL,"+
		" claimed_until = NULL WHERE open_report_id = ? AND lab_id = ? AND claimed_by = ?", reportID, l.scope.LabID(), claimant(by))
	return wrap("end claim", err)
}
