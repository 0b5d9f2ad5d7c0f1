package grpcserver

import (
	"context"
	"errors"
	"reflect"
	"time"

	"github.com/labplatform/labplatform/pkg/apperr"
	"github.com/labplatform/labplatform/pkg/authn"
)

// recheckInterval is the interval at which the login of a stream is checked again. A stream continues for up to
// this time after its login ended or changed.
const recheckInterval = time.Minute

var errLoginChanged = apperr.New(apperr.Unauthenticated, "LOGIN_CHANGED", "The login has changed. Connect again.")

// whileLoggedIn returns a context that ends when the credential of ctx becomes invalid or belongs to a changed
// principal. An unavailable session store does not end it. The caller must call done.
func (i *interceptors) whileLoggedIn(ctx context.Context, method string) (watched context.Context, done func()) {
	watched, cancel := context.WithCancelCause(ctx)
	go func() {
		var err error
		defer func() {
			if err != nil {
				cancel(err)
			}
		}()
		defer i.rescue(watched, method, &err)
		tick := time.NewTicker(recheckInterval)
		defer tick.Stop()
		for {
			select {
			case <-watched.Done():
				return
			case <-tick.C:
			}
			if err = i.stillLoggedIn(watched, method); err != nil {
				return
			}
		}
	}()
	return watched, func() { cancel(nil) }
}

func (i *interceptors) stillLoggedIn(ctx context.Context, method string) error {
	now, err := i.authenticate(ctx, method)
	switch {
	case apperr.Is(err, apperr.Unauthenticated), apperr.Is(err, apperr.Forbidden):
		return err
	case err == nil && !reflect.DeepEqual(authn.FromContext(now), authn.FromContext(ctx)):
		return errLoginChanged
	}
	return nil
}

// withdrawn returns the authentication error that ended a context of whileLoggedIn, or nil if the context has not ended
// or ended for another reason.
func withdrawn(ctx context.Context) error {
	cause := context.Cause(ctx)
	if known := (*apperr.Error)(nil); errors.As(cause, &known) {
		return cause
	}
	return nil
}
