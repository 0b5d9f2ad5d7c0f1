package grpcapi_test

import (
	"context"
	"testing"

	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/pkg/clock"
	searchv1 "github.com/labplatform/labplatform/proto/gen/lab/search/v1"
	"github.com/labplatform/labplatform/services/search/internal/grpcapi"
	"github.com/labplatform/labplatform/services/search/internal/login"
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

type logins struct{}

func (logins) Laboratory(context.Context, authn.Principal) (login.Laboratory, error) {
	return login.Laboratory{ID: 12}, nil
}

func TestTwoDoctorsOfOneNameAreTwoLogins(t *testing.T) {
	t.Parallel()
	server, seen := grpcapi.New(grpcapi.Deps{Logins: logins{}, Clock: clock.Fixed(today)}), map[int64]bool{}
	for _, id := range []int64{301, 302} {
		doctor := authn.Principal{Kind: authn.Session, SessionType: authn.Doctor, LabID: 12, DoctorID: id, FullName: "Dr Rao"}
		out, err := server.GetLogin(authn.NewContext(t.Context(), doctor), &searchv1.GetLoginRequest{})
		if err != nil || out.GetLabUserId() != 0 {
			t.Fatalf("got %v, %v, want 0", out, err)
		}
		seen[out.GetActorId()] = true
	}
	if !seen[301] || !seen[302] {
		t.Fatalf("actors %v, want 301 and 302", seen)
	}
}
