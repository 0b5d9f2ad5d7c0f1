package detail_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/labplatform/labplatform/pkg/apperr"
	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/pkg/lab/sight"
	"github.com/labplatform/labplatform/services/search/internal/detail"
	"github.com/labplatform/labplatform/services/search/internal/search"
)

// tables is a fake reader with one patient of laboratory 12.
type tables struct {
	record detail.Record
	err    error
}

// IsReferredBy returns true for one doctor of that patient.
func (r tables) IsReferredBy(_ context.Context, lab authn.LabScope, userID, doctorID int64) (bool, error) {
	return lab.LabID() == r.record.LabID && userID == r.record.UserID && doctorID == 301, r.err
}

// Own removes all bills but the last.
func (r tables) Own(_ context.Context, _ sight.Sight, patients []*search.Person) error {
	for _, p := range patients {
		p.BillIDs = []int64{302}
	}
	return r.err
}

func (r tables) Record(_ context.Context, lab authn.LabScope, userID int64) (detail.Record, error) {
	if r.err != nil {
		return detail.Record{}, r.err
	}
	if lab.LabID() != r.record.LabID || userID != r.record.UserID {
		return detail.Record{}, detail.ErrNoUser
	}
	return r.record, nil
}

var rahul = detail.Record{
	Person: search.Person{UserID: 501, LabID: 12, FullName: "Rahul Sharma", Contact: "9876543210", Email: "r@x.in",
		BillIDs: []int64{301, 302}},
	Places: search.Places{BranchIDs: []int64{3}, OrgIDs: []int64{45, 46}},
}

func TestAPatientIsShownToWhoeverMaySeeOneAndNotedByIDs(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		principal authn.Principal
		want      map[string]any // the expected audit line
		outside   bool
	}{
		"a lab user": {
			authn.Principal{Kind: authn.Session, SessionType: authn.LabUser, LabID: 12, LabUserID: 77, FullName: "Asha R", BranchID: 3},
			map[string]any{"credential": "session", "session_type": "lab_user", "actor_id": 77.0, "branch_id": 3.0, "org_id": 0.0}, false,
		},
		"the doctor of a bill": {
			authn.Principal{Kind: authn.Session, SessionType: authn.Doctor, LabID: 12, DoctorID: 301, DocType: new(2)},
			map[string]any{"credential": "session", "session_type": "doctor", "actor_id": 301.0, "branch_id": 0.0, "org_id": 0.0}, true,
		},
		"a department's doctor": {
			authn.Principal{Kind: authn.Session, SessionType: authn.Doctor, LabID: 12, DoctorID: 302, DocType: new(0)},
			map[string]any{"credential": "session", "session_type": "doctor", "actor_id": 302.0, "branch_id": 0.0, "org_id": 0.0}, false,
		},
		"an organization": {
			authn.Principal{Kind: authn.Bearer, SessionType: authn.Organization, LabID: 12, OrgID: 46},
			map[string]any{"credential": "token", "session_type": "organization", "actor_id": 46.0, "branch_id": 0.0, "org_id": 46.0}, true,
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var log bytes.Buffer
			useCase := detail.New(detail.Deps{Limiter: open{}, Reader: tables{record: rahul}, Audit: slog.New(slog.NewJSONHandler(&log, nil))})
			got, err := useCase.Read(t.Context(), c.principal, 501)
			if err != nil {
				t.Fatal(err)
			}
			want := rahul.Person
			if c.outside {
				want.BillIDs = []int64{302}
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Error(diff)
			}
			line := map[string]any{}
			if err := json.Unmarshal(log.Bytes(), &line); err != nil {
				t.Fatal(err)
			}
			delete(line, "time")
			for name, value := range map[string]any{"level": "INFO", "msg": "patient was read", "audit": true, "user_id": 501.0, "lab_id": 12.0, "cc_id": 0.0} {
				c.want[name] = value
			}
			if diff := cmp.Diff(c.want, line); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestWhoMayNotSeeAPatientLearnsNothingAndLeavesNoLine(t *testing.T) {
	t.Parallel()
	down := apperr.New(apperr.Unavailable, "DATABASE_DOWN", "away")
	cases := map[string]struct {
		tables    tables
		principal authn.Principal
		userID    int64
		want      error
		kind      apperr.Kind
	}{
		"unknown":                  {tables{record: rahul}, authn.Principal{Kind: authn.Session, LabID: 12}, 502, detail.ErrNoUser, apperr.NotFound},
		"of another laboratory":    {tables{record: rahul}, authn.Principal{Kind: authn.Session, LabID: 13}, 501, detail.ErrNoUser, apperr.NotFound},
		"of another branch":        {tables{record: rahul}, authn.Principal{Kind: authn.Session, LabID: 12, BranchID: 4}, 501, detail.ErrNoUser, apperr.NotFound},
		"of another organization":  {tables{record: rahul}, authn.Principal{Kind: authn.Session, SessionType: authn.Organization, LabID: 12, OrgID: 47}, 501, detail.ErrNoUser, apperr.NotFound},
		"of another doctor":        {tables{record: rahul}, authn.Principal{Kind: authn.Session, SessionType: authn.Doctor, LabID: 12, DoctorID: 302, DocType: new(2)}, 501, detail.ErrNoUser, apperr.NotFound},
		"of no centre":             {tables{record: rahul}, authn.Principal{Kind: authn.Session, SessionType: authn.CollectionCenter, LabID: 12, CCID: 9}, 501, detail.ErrNoUser, apperr.NotFound},
		"a login without its id":   {tables{record: rahul}, authn.Principal{Kind: authn.Session, SessionType: authn.CollectionCenter, LabID: 12}, 501, sight.ErrNoScope, apperr.Forbidden},
		"a service":                {tables{record: rahul}, authn.Principal{Kind: authn.Service, Caller: "rerun"}, 501, nil, apperr.Invalid},
		"an unavailable database":  {tables{err: down}, authn.Principal{Kind: authn.Session, LabID: 12}, 501, down, apperr.Unavailable},
		"a session without a home": {tables{record: rahul}, authn.Principal{Kind: authn.Session}, 501, authn.ErrNoLab, apperr.Invalid},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var log bytes.Buffer
			useCase := detail.New(detail.Deps{Limiter: open{}, Reader: c.tables, Audit: slog.New(slog.NewJSONHandler(&log, nil))})
			got, err := useCase.Read(t.Context(), c.principal, c.userID)
			if !apperr.Is(err, c.kind) || (c.want != nil && !errors.Is(err, c.want)) {
				t.Fatalf("error %v", err)
			}
			if diff := cmp.Diff(search.Person{}, got); diff != "" || log.Len() > 0 {
				t.Errorf("shown: %s; noted: %s", diff, log.String())
			}
		})
	}
}

// open is a limiter that admits all callers.
type open struct{}

func (open) AdmitRead(context.Context, authn.Principal, authn.LabScope) error { return nil }

// shut is a limiter that rejects all callers.
type shut struct{}

var errShut = apperr.New(apperr.TooManyRequests, "TOO_MANY_PATIENTS", "Wait a moment.")

func (shut) AdmitRead(context.Context, authn.Principal, authn.LabScope) error { return errShut }

func TestWhoReadsTooManyPatientsIsShownNoneAndLeavesNoAudit(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	useCase := detail.New(detail.Deps{Limiter: shut{}, Reader: tables{}, Audit: slog.New(slog.NewJSONHandler(&log, nil))})
	_, err := useCase.Read(t.Context(), authn.Principal{Kind: authn.Session, LabID: 7, LabUserID: 1}, 501)
	if !errors.Is(err, errShut) || log.Len() > 0 {
		t.Errorf("error %v, audit %q", err, log.String())
	}
}
