// Package claim manages claims: a person marks a waiting report as "I am calling", and other users see it on the board,
// so that a clinician is not called twice. A claim is advisory: it never prevents a callout.
package claim

import (
	"context"
	"time"

	"github.com/labplatform/labplatform/pkg/apperr"
	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/services/callout/internal/callout"
	"github.com/labplatform/labplatform/services/callout/internal/evaluate"
)

// lasts is how long a claim lasts unless it is renewed: longer than most calls.
const lasts = 10 * time.Minute

// Claim is the mark of a person who is calling about a report. The zero Claim means that no one is.
type Claim struct {
	By           authn.Actor
	Since, Until time.Time
}

// Of reports whether the person holds the claim.
func (c Claim) Of(person authn.Actor) bool {
	// The name is not compared, because it may have changed.
	return !c.Until.IsZero() && c.By.Kind == person.Kind && c.By.ID == person.ID
}

// Facts hold the claim of a waiting report, and the database's time. An expired claim is the zero Claim.
type Facts struct {
	Held Claim
	Now  time.Time
}

// Store keeps the claims of waiting reports.
type Store interface {
	// ChangeClaim locks a visible waiting report, calls decide and writes the claim that decide returns, all in one
	// transaction. It returns ErrNotWaiting if the report does not wait or is not visible.
	ChangeClaim(
		ctx context.Context, scope authn.LabScope, reportID int64, v callout.Visibility,
		decide func(Facts) (Claim, error),
	) (Claim, error)
}

// ErrNotWaiting is returned for a report that does not wait or that the caller may not see.
var ErrNotWaiting = apperr.New(apperr.NotFound, "NOT_WAITING",
	"No result with this id waits for a callout in this laboratory; reload the board")

// UseCase changes claims. Its methods may be called from several goroutines.
type UseCase struct {
	store   Store
	signals evaluate.Signals
}

// New returns a use case that writes through s and signals changes to open boards.
func New(s Store, signals evaluate.Signals) *UseCase { return &UseCase{s, signals} }

// Claim claims a report for a person, or renews the person's claim. To replace another person's claim, insteadOf must
// be the time at which that claim began; zero replaces none.
func (u *UseCase) Claim(
	ctx context.Context, scope authn.LabScope, by authn.Actor, v callout.Visibility, reportID int64, insteadOf time.Time,
) (Claim, error) {
	return u.change(ctx, scope, reportID, v, func(f Facts) (Claim, error) { return f.claimed(by, insteadOf) })
}

// Release ends the person's claim of a report.
func (u *UseCase) Release(
	ctx context.Context, scope authn.LabScope, by authn.Actor, v callout.Visibility, reportID int64,
) error {
	_, err := u.change(ctx, scope, reportID, v, func(f Facts) (Claim, error) { return f.released(by) })
	return err
}

func (u *UseCase) change(
	ctx context.Context, scope authn.LabScope, reportID int64, v callout.Visibility, decide func(Facts) (Claim, error),
) (Claim, error) {
	c, err := u.store.ChangeClaim(ctx, scope, reportID, v, decide)
	if err == nil {
		u.signals.Changed(ctx, scope)
	}
	return c, err
}

// claimed returns the claim of by on the report, or an error if another person holds a claim that did not begin at
// insteadOf.
func (f Facts) claimed(by authn.Actor, insteadOf time.Time) (Claim, error) {
	wanted := Claim{By: by, Since: f.Now, Until: f.Now.Add(lasts)}
	switch {
	case f.Held.Of(by):
		wanted.Since = f.Held.Since
	case !f.Held.Until.IsZero() && !f.Held.Since.Equal(insteadOf):
		return Claim{}, f.Held.errClaimed("take the claim over with instead_of if they agree, or wait")
	}
	return wanted, nil
}

// released returns the claim after by has released the report, or an error if another person holds it.
func (f Facts) released(by authn.Actor) (Claim, error) {
	if !f.Held.Until.IsZero() && !f.Held.Of(by) {
		return Claim{}, f.Held.errClaimed("only that person gives the claim up; it ends by itself")
	}
	return Claim{}, nil
}

// errClaimed returns the error about another person's claim. The name is only in its data, because messages contain no
// names.
func (c Claim) errClaimed(todo string) error {
	const claimed = "CLAIMED"
	since, until := c.Since.Format(time.RFC3339Nano), c.Until.Format(time.RFC3339Nano)
	return apperr.Newf(apperr.Conflict, claimed,
		"Another person is calling about this result since %s; %s", c.Since.Format(time.RFC3339), todo).
		WithDetails(claimed).WithData(map[string]string{"name": c.By.Name, "since": since, "until": until})
}
