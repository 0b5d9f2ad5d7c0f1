package outbox

import (
	"context"
	"errors"

	"github.com/labplatform/labplatform/pkg/apperr"
)

// Deliver hands one row to its receiver. nil removes the row; an error marked with Undeliverable parks it, one marked
// with Away makes the whole kind wait, any other is tried again later. It is called again for the same row after a
// crash, so the receiver must tell repetitions by Row.Key. Error texts are stored in the row: they hold nothing about
// patients.
type Deliver func(ctx context.Context, row Row) error

// Undeliverable marks err as final: another try of this row cannot succeed.
func Undeliverable(err error) error { return &undeliverable{err} }

// IsUndeliverable reports whether err was marked with Undeliverable.
func IsUndeliverable(err error) bool {
	var final *undeliverable
	return errors.As(err, &final)
}

// Away marks err as saying nothing about the row: its receiver is not deployed or does not answer.
func Away(err error) error { return &away{err} }

// IsAway reports whether err was marked with Away.
func IsAway(err error) bool {
	var marked *away
	return errors.As(err, &marked)
}

type undeliverable struct{ error }

func (u *undeliverable) Unwrap() error { return u.error }

type away struct{ error }

func (a *away) Unwrap() error { return a.error }

// Classify marks the answer of a service of the platform. What it refuses as wrong is final. A refused credential is
// not: the configuration is at fault and gets fixed. A receiver that ran into its deadline is not away: one row that
// makes it slow must not hold back the others.
func Classify(err error) error {
	if err == nil {
		return nil
	}
	switch apperr.KindOf(err) {
	case apperr.Invalid, apperr.NotFound, apperr.Conflict, apperr.TooLarge:
		return Undeliverable(err)
	case apperr.Unavailable, apperr.Unimplemented:
		return Away(err)
	default:
		return err
	}
}
