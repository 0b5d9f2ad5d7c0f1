package grpcapi

import (
	"context"
	"time"

	"github.com/labplatform/labplatform/pkg/authn"
	searchv1 "github.com/labplatform/labplatform/proto/gen/lab/search/v1"
	"github.com/labplatform/labplatform/services/search/internal/login"
	"github.com/labplatform/labplatform/services/search/internal/lookup"
	"github.com/labplatform/labplatform/services/search/internal/search"
)

// NumberFinder finds the patients, bills and reports that have a number.
type NumberFinder interface {
	Find(ctx context.Context, p authn.Principal, c lookup.Command) (lookup.Answer, error)
}

// LoginReader reads the laboratory of a login.
type LoginReader interface {
	Laboratory(ctx context.Context, p authn.Principal) (login.Laboratory, error)
}

// LookUp returns the patients, bills and reports that have a number.
func (s *Server) LookUp(ctx context.Context, in *searchv1.LookUpRequest) (*searchv1.LookUpResponse, error) {
	found, err := s.d.Numbers.Find(ctx, authn.FromContext(ctx), lookup.Command{
		Number: in.GetNumber(), BillID: in.GetBillId(), ReportID: in.GetLabReportId(),
	})
	if err != nil {
		return nil, err
	}
	out := &searchv1.LookUpResponse{LimitReached: found.More, Incomplete: found.Incomplete}
	for _, m := range found.Matches {
		out.Matches = append(out.Matches, match(m, s.d.Clock.Now()))
	}
	return out, nil
}

func match(m lookup.Match, today time.Time) *searchv1.LookUpMatch {
	out := &searchv1.LookUpMatch{
		Kind: string(m.Kind), Number: m.Number,
		Patient: &searchv1.LookUpPatient{
			UserId: m.Patient.UserID, LabPatientId: m.Patient.LabPatientID, FullName: m.Patient.FullName,
			Gender: m.Patient.Gender, Age: search.AgeOn(today, &m.Patient), DateOfBirth: date(m.Patient.DateOfBirth),
		},
	}
	if b := m.Bill; b != nil {
		out.Bill = &searchv1.LookUpBill{
			BillId: b.ID, LabBillId: b.LabBillID, OrderNumber: b.OrderNumber, Source: b.Source, Organization: b.Organization,
		}
	}
	for _, r := range m.Reports {
		out.Reports = append(out.Reports, &searchv1.LookUpReport{
			LabReportId: r.ID, TestId: r.TestID, TestName: r.TestName, SampleId: r.SampleID, CellCounter: r.CellCounter,
		})
	}
	return out
}

// GetLogin returns the caller's login and laboratory.
func (s *Server) GetLogin(ctx context.Context, _ *searchv1.GetLoginRequest) (*searchv1.GetLoginResponse, error) {
	p := authn.FromContext(ctx)
	lab, err := s.d.Logins.Laboratory(ctx, p)
	if err != nil {
		return nil, err
	}
	_, referring := p.ReferringDoctor()
	name := p.FullName
	if name == "" {
		name = p.Username
	}
	return &searchv1.GetLoginResponse{
		Name: name, SessionType: string(p.SessionType), LabUserId: p.LabUserID, ActorId: p.Actor().ID, Referring: referring,
		Permissions: p.Permissions,
		Laboratory:  &searchv1.Laboratory{LabId: lab.ID, Name: lab.Name, Timezone: lab.Timezone},
	}, nil
}
