package grpcapi_test

import (
	"context"
	"testing"

	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/pkg/clock"
	searchv1 "github.com/labplatform/labplatform/proto/gen/lab/search/v1"
	"github.com/labplatform/labplatform/services/search/internal/grpcapi"
	"github.com/labplatform/labplatform/services/search/internal/lookup"
)

type numbers struct{ answer lookup.Answer }

func (n numbers) Find(context.Context, authn.Principal, lookup.Command) (lookup.Answer, error) {
	return n.answer, nil
}

func TestAResponseStatesWhatItLacks(t *testing.T) {
	t.Parallel()
	for _, answer := range []lookup.Answer{{}, {More: true}, {Incomplete: true}} {
		out, err := grpcapi.New(grpcapi.Deps{Numbers: numbers{answer}, Clock: clock.Fixed(today)}).
			LookUp(t.Context(), &searchv1.LookUpRequest{Number: "301"})
		if err != nil || out.GetLimitReached() != answer.More || out.GetIncomplete() != answer.Incomplete {
			t.Errorf("%+v is sent as %v, %v", answer, out, err)
		}
	}
}
