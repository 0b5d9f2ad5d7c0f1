package outbox

import (
	"context"
	"errors"

	"github.com/labplatform/labplatform/pkg/apperr"
)

// Deliver sends one row to its receiver. A nil error removes the row; an error marked with Undeliverable parks it, one
// marked with ReceiverUnavailable makes the whole kind wait, and any other is retried later. After a crash it is called
// again for the same row, so the receiver must detect repetitions by Row.Key. Error texts are stored in the row; they
// must not contain patient data.
type Deliver func(ctx context.Context, row Row) error

// Undeliverable marks err as final: no retry of this row can succeed.
func Undeliverable(err error) error { return &undeliverable{err} }

// IsUndeliverable reports whether err was marked with Undeliverable.
func IsUndeliverable(err error) bool {
	var final *undeliverable
	return errors.As(err, &final)
}

// ReceiverUnavailable marks err as unrelated to the row: the receiver is not deployed or does not respond. All rows of
// the kind then wait.
func ReceiverUnavailable(err error) error { return &unavailable{err} }

// IsReceiverUnavailable reports whether err was marked with ReceiverUnavailable.
func IsReceiverUnavailable(err error) bool {
	var marked *unavailable
	return errors.As(err, &marked)
}

type undeliverable struct{ error }

func (u *undeliverable) Unwrap() error { return u.error }

type unavailable struct{ error }

func (a *unavailable) Unwrap() error { return a.error }

// Classify marks the error of a service of the platform. A rejected message is final. A rejected credential is retried,
// because configuration errors get fixed. A timeout does not mark the receiver as unavailable: one row that makes it
// slow must not block the others.
func Classify(err error) error {
	if err == nil {
		return nil
	}
	switch apperr.KindOf(err) {
	case apperr.Invalid, apperr.NotFound, apperr.Conflict, apperr.TooLarge:
		return Undeliverable(err)
	case apperr.Unavailable, apperr.Unimplemented:
		return ReceiverUnavailable(err)
	default:
		return err
	}
}
