package grpcserver

import (
	"context"
	"errors"
	"reflect"
	"time"

	"github.com/labplatform/labplatform/pkg/apperr"
	"github.com/labplatform/labplatform/pkg/authn"
)

// lookAgain is how long a stream continues after its login ended or changed.
const lookAgain = time.Minute

var errLoginChanged = apperr.New(apperr.Unauthenticated, "LOGIN_CHANGED", "The login has changed. Connect again.")

// whileLoggedIn returns a context that ends when the credential of ctx holds no more, or says something else than at
// the beginning. A session store that cannot be asked ends nothing.
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
		tick := time.NewTicker(lookAgain)
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

// withdrawn returns why the context of whileLoggedIn ended, if the login was the reason.
func withdrawn(ctx context.Context) error {
	cause := context.Cause(ctx)
	if known := (*apperr.Error)(nil); errors.As(cause, &known) {
		return cause
	}
	return nil
}
