package apperr_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/labplatform/labplatform/pkg/apperr"
)

func TestKindOfSurvivesWrapping(t *testing.T) {
	t.Parallel()
	base := apperr.New(apperr.Conflict, "RERUN_OPEN", "a rerun is open")
	err := fmt.Errorf("request: %w", fmt.Errorf("store: %w", base))
	if got := apperr.KindOf(err); got != apperr.Conflict {
		t.Fatalf("kind = %v, want Conflict", got)
	}
	if apperr.KindOf(errors.New("plain")) != apperr.Internal {
		t.Fatal("KindOf(plain error) is not Internal")
	}
	if apperr.Is(nil, apperr.Internal) {
		t.Fatal("Is(nil, Internal) = true, want false")
	}
}

func TestCauseIsHiddenButReachable(t *testing.T) {
	t.Parallel()
	secret := errors.New("Error 1062: Duplicate entry '9876543210'")
	err := apperr.New(apperr.Conflict, "DUPLICATE", "already there").WithCause(secret)
	if err.Error() != "already there" {
		t.Fatalf("Error() = %q, want \"already there\"", err.Error())
	}
	if !errors.Is(err, secret) || apperr.WithCauses(err) != "already there: Error 1062: Duplicate entry '9876543210'" {
		t.Fatalf("WithCauses = %q, want the message and the cause", apperr.WithCauses(err))
	}
}

func TestInvalidFieldsTakesTheFirstMessage(t *testing.T) {
	t.Parallel()
	err := apperr.InvalidFields(
		apperr.Field{Index: 0, Name: "task", Message: "task 5 is unknown"},
		apperr.Field{Index: 2, Name: "retry", Message: "retry is at most 10"})
	if err.Message != "task 5 is unknown" || len(err.Fields) != 2 || err.Kind != apperr.Invalid {
		t.Fatalf("InvalidFields = %+v, want kind Invalid, two fields and the first message", err)
	}
}
