package grpcapi

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"

	"github.com/labplatform/labplatform/pkg/apperr"
	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/pkg/config"
	"github.com/labplatform/labplatform/pkg/testkit/clocktest"
	externaleditv1 "github.com/labplatform/labplatform/proto/gen/lab/externaledit/v1"
	typev1 "github.com/labplatform/labplatform/proto/gen/lab/type/v1"
	"github.com/labplatform/labplatform/services/externaledit/internal/editing"
	"github.com/labplatform/labplatform/services/externaledit/internal/history"
	"github.com/labplatform/labplatform/services/externaledit/internal/session"
	"github.com/labplatform/labplatform/services/externaledit/internal/store/mysql"
	"github.com/labplatform/labplatform/services/externaledit/internal/store/storetest"
	"github.com/labplatform/labplatform/services/externaledit/internal/upload"
	"github.com/labplatform/labplatform/services/externaledit/internal/watch"
)

const ttl = 8 * time.Hour

var lifetime = session.Lifetime{Idle: ttl, Most: 24 * time.Hour}

// lenient is a fake that permits everything and counts nothing.
type lenient struct{}

func (lenient) Create(context.Context, authn.Principal) error   { return nil }
func (lenient) Retrieve(context.Context, authn.Principal) error { return nil }
func (lenient) List(context.Context, authn.Principal) error     { return nil }
func (lenient) Beat(context.Context, int64) error               { return nil }
func (lenient) Upload(context.Context, int64) error             { return nil }
func (lenient) Created()                                        {}
func (lenient) Refused()                                        {}
func (lenient) Restored()                                       {}
func (lenient) Uploaded(string)                                 {}
func (lenient) Received(string, int64)                          {}
func (lenient) Ended(session.EndReason)                         {}
func (lenient) Agent(bool)                                      {}
func (lenient) Took(string, time.Duration)                      {}
func (lenient) Seal(config.Secret) []byte                       { return nil }
func (lenient) Renewed([]byte, config.Secret) []byte            { return nil }
func (lenient) Mint(*session.Session) (string, error)           { return "token", nil }

// watched is a fake Watcher that calls the function. nil watches nothing.
type watched func(send func(watch.Entry) error) error

func (w watched) Watch(_ context.Context, _ authn.LabScope, _ int64, _ string, send func(watch.Entry) error) error {
	if w == nil {
		return nil
	}
	return w(send)
}

// desk is a server with test stores with a session of report 7001, whose bill belongs to doctor 301.
type desk struct {
	*Server
	t       *testing.T
	store   *storetest.Database
	editing *editing.UseCase
	clock   *clocktest.Clock
	session session.Session
}

func newDesk(t *testing.T) *desk {
	t.Helper()
	files, clock := storetest.NewFiles(), clocktest.New(storetest.Now)
	store := storetest.New(t, clock)
	store.AddReport(12, session.Report{ID: 7001, BillID: 9001, DoctorID: 301})
	store.AddTemplate(12, session.Template{ID: 1, Path: "templates/t.docx"}, false)
	files.Add("templates/t.docx", []byte("PK"))
	wake := func() {}
	d := &desk{t: t, store: store, clock: clock, session: storetest.Opened()}
	d.session.Listed, d.session.PatientID = true, 501
	store.SetListed(12, d.session.Author, true)
	d.session.ExpiresAt = storetest.Now.Add(ttl)
	err := mysql.Editing{Store: store.Store}.Lock(t.Context(), storetest.Scope(t, 12), 7001,
		func(l editing.Locked) error { return l.Insert(t.Context(), &d.session) })
	if err != nil {
		t.Fatal(err)
	}
	d.editing = editing.New(editing.Deps{Reports: mysql.Editing{Store: store.Store}, Files: files, Tokens: lenient{}, Clock: clock, Lifetime: lifetime,
		NewID: func() string { return "another" }, WakeRelay: wake, Counters: lenient{}, Copier: upload.Copier{Files: files}})
	d.Server = New(Deps{
		Editor: d.editing, Watcher: watched(nil), Linker: files, Limits: lenient{}, Logins: lenient{}, Observer: lenient{}, Clock: clock,
		Uploader: upload.New(upload.Deps{Reports: mysql.Uploads{Store: store.Store}, Files: files, Limits: lenient{}, Clock: clock, Lifetime: lifetime,
			NewID: func() string { return "u" }, WakeRelay: wake, Counters: lenient{}}),
		Historian: history.New(history.Deps{Reports: mysql.History{Store: store.Store}, Clock: clock, WakeRelay: wake, Counters: lenient{}}),
	})
	return d
}

// events is the event stream of a reader.
type events struct {
	grpc.ServerStream
	ctx context.Context
}

func (e events) Context() context.Context { return e.ctx }
func (e events) Send(*typev1.Event) error { return nil }

// saving is the stream of an upload.
type saving struct {
	uploadStream
	ctx  context.Context
	edit int64
}

func (s saving) Context() context.Context { return s.ctx }

func (s saving) Recv() (*externaleditv1.UploadFilesRequest, error) {
	return &externaleditv1.UploadFilesRequest{Part: &externaleditv1.UploadFilesRequest_Start{
		Start: &externaleditv1.UploadStart{EditId: s.edit}}}, nil
}

func (s saving) RecvMsg(any) error { return errors.New("the form ends early") }

// paths returns all operations on the report and its session.
func (d *desk) paths() map[string]func(context.Context) error {
	id := d.session.ID
	return map[string]func(context.Context) error{
		"session": func(ctx context.Context) error {
			_, err := d.GetSession(ctx, &externaleditv1.GetSessionRequest{LabReportId: 7001})
			return err
		},
		"events": func(ctx context.Context) error {
			return d.WatchEvents(&externaleditv1.WatchEventsRequest{LabReportId: 7001}, events{ctx: ctx})
		},
		"revisions": func(ctx context.Context) error {
			_, err := d.ListRevisions(ctx, &externaleditv1.ListRevisionsRequest{LabReportId: 7001})
			return err
		},
		"upload": func(ctx context.Context) error { return d.UploadFiles(saving{ctx: ctx, edit: id}) },
		"heartbeat": func(ctx context.Context) error {
			_, err := d.Heartbeat(ctx, &externaleditv1.HeartbeatRequest{EditId: id})
			return err
		},
		"create": func(ctx context.Context) error {
			_, err := d.CreateSession(ctx, &externaleditv1.CreateSessionRequest{LabReportId: 7001, TemplateId: proto.Int64(1),
				WordS3Filepath: proto.String("templates/t.docx"), TakeOver: true})
			return err
		},
		"restore": func(ctx context.Context) error {
			_, err := d.RestoreRevision(ctx, &externaleditv1.RestoreRevisionRequest{LabReportId: 7001, RevisionId: 1})
			return err
		},
		"force-end": func(ctx context.Context) error {
			_, err := d.ForceEndSession(ctx, &externaleditv1.ForceEndSessionRequest{EditId: id})
			return err
		},
	}
}

func (d *desk) as(p authn.Principal) context.Context { return authn.NewContext(d.t.Context(), p) }

// holder returns the context of a caller with the session's token.
func (d *desk) holder() context.Context {
	return d.as(authn.Principal{Kind: authn.Bearer, LabID: 12, LabUserID: d.session.Author.ID, Grant: session.Grant{
		SessionID: d.session.ID, ReportID: 7001, Author: d.session.Author, TokenID: d.session.TokenID,
		Expired: !d.clock.Now().Before(d.session.ExpiresAt)}})
}

func (d *desk) end(ctx context.Context) error {
	_, err := d.EndSession(ctx, &externaleditv1.EndSessionRequest{EditId: d.session.ID})
	return err
}

// TestATokenOpensNothingAfterItsSessionEnded calls every operation after every way in which a session can end. Only
// ending the session may be repeated.
func TestATokenOpensNothingAfterItsSessionEnded(t *testing.T) {
	t.Parallel()
	admin := authn.Principal{Kind: authn.Session, SessionType: authn.LabUser, LabID: 12, LabUserID: 79,
		Permissions: []string{session.PermissionEdit, session.PermissionTakeOver}}
	for way, end := range map[string]func(*desk) error{
		"ended by its author": func(d *desk) error { return d.end(d.holder()) },
		"ended by force":      func(d *desk) error { return d.paths()["force-end"](d.as(admin)) },
		"taken over":          func(d *desk) error { return d.paths()["create"](d.as(admin)) },
		"without permission": func(d *desk) error {
			d.store.SetListed(12, d.session.Author, false)
			_, err := d.Heartbeat(d.holder(), &externaleditv1.HeartbeatRequest{EditId: d.session.ID})
			if !apperr.Is(err, apperr.Forbidden) {
				return fmt.Errorf("the beat after the permission was withdrawn: %w", err)
			}
			return nil
		},
		"expired": func(d *desk) error { d.clock.Advance(ttl + time.Second); return nil },
	} {
		d := newDesk(t)
		for name, path := range d.paths() {
			if reads := name == "session" || name == "events" || name == "revisions"; reads {
				if err := path(d.holder()); err != nil {
					t.Fatalf("%s of an open session: %v", name, err)
				}
			}
		}
		if err := end(d); err != nil {
			t.Fatalf("%s: got error %v, want none", way, err)
		}
		for name, path := range d.paths() {
			if err := path(d.holder()); !apperr.Is(err, apperr.Forbidden) {
				t.Errorf("%s after the session was %s: %v, want it refused", name, way, err)
			}
		}
		repeated := d.end(d.holder())
		if expired := way == "expired"; expired && !apperr.Is(repeated, apperr.Forbidden) || !expired && repeated != nil {
			t.Errorf("the end repeated after the session was %s: %v", way, repeated)
		}
	}
}

// TestAStreamEndsWithTheSessionOfItsToken ends the session while its holder watches. The holder's stream must end, and
// a user's stream must continue.
func TestAStreamEndsWithTheSessionOfItsToken(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	admin := authn.Principal{Kind: authn.Session, SessionType: authn.LabUser, LabID: 12, LabUserID: 79,
		Permissions: []string{session.PermissionTakeOver}}
	d.d.Watcher = watched(func(send func(watch.Entry) error) error {
		if err := send(watch.Entry{ID: "1-0"}); err != nil {
			return err
		}
		if err := d.paths()["force-end"](d.as(admin)); err != nil {
			return err
		}
		return send(watch.Entry{ID: "2-0", Event: "session_ended"})
	})
	if err := d.paths()["events"](d.holder()); !apperr.Is(err, apperr.Forbidden) {
		t.Errorf("the holder's stream: %v", err)
	}
	if err := d.paths()["events"](d.as(admin)); err != nil {
		t.Errorf("a user's stream: %v", err)
	}
}

// TestATokenThatExpiredBeforeItsSessionIsToBeReplaced covers a session that continues with a newer token. Calls with
// the expired token must get Unauthenticated, so that the client replaces it.
func TestATokenThatExpiredBeforeItsSessionIsToBeReplaced(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	previous := d.holder()
	p := authn.FromContext(previous)
	grant := p.Grant.(session.Grant)
	grant.Expired = true
	p.Grant = grant
	for name, path := range d.paths() {
		if err := path(d.as(p)); !apperr.Is(err, apperr.Unauthenticated) {
			t.Errorf("%s: got %v, want kind Unauthenticated", name, err)
		}
	}
	if err := d.end(d.as(p)); !apperr.Is(err, apperr.Unauthenticated) {
		t.Errorf("the end: %v", err)
	}
}

func TestAReferringDoctorSeesReportsOfOwnBillsAlone(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	doctor := func(id int64, kind int) context.Context {
		return d.as(authn.Principal{Kind: authn.Session, SessionType: authn.Doctor, LabID: 12, DoctorID: id, DocType: &kind,
			Permissions: []string{session.PermissionEdit, session.PermissionTakeOver}})
	}
	for _, name := range []string{"session", "events", "revisions"} {
		path := d.paths()[name]
		if err := path(doctor(301, 2)); err != nil {
			t.Errorf("%s of an own bill: %v", name, err)
		}
		if err := path(doctor(302, 2)); !apperr.Is(err, apperr.NotFound) {
			t.Errorf("%s of another doctor's bill: %v", name, err)
		}
		if err := path(doctor(302, 0)); err != nil {
			t.Errorf("%s for a department's doctor: %v", name, err)
		}
	}
	for _, name := range []string{"restore", "force-end"} {
		if err := d.paths()[name](doctor(301, 2)); !apperr.Is(err, apperr.Forbidden) {
			t.Errorf("%s by a doctor: %v", name, err)
		}
	}
	if err := d.paths()["create"](doctor(302, 2)); !apperr.Is(err, apperr.NotFound) {
		t.Errorf("a session of another doctor's bill: %v", err)
	}
}

// TestDocumentsOfTheFormerPatientAreNotHandedOut: a document was saved for patient 501. Then the report turned out to be
// of patient 502, whose doctor and laboratory see the save without its document.
func TestDocumentsOfTheFormerPatientAreNotHandedOut(t *testing.T) {
	t.Parallel()
	d, kind := newDesk(t), 2
	saved := session.Revision{SessionID: d.session.ID, Number: 1, UploadedAt: storetest.Now,
		Word: session.Stored{URL: "mem://files/labs/12/w.docx"}, PDF: session.Stored{URL: "mem://files/labs/12/p.pdf"}}
	err := mysql.Uploads{Store: d.store.Store}.Lock(t.Context(), storetest.Scope(t, 12), 7001,
		func(l upload.Locked) error { return l.AddRevision(t.Context(), &saved) })
	if err != nil {
		t.Fatal(err)
	}
	may := []string{session.PermissionEdit}
	readers := map[string]context.Context{
		"the holder of a token": d.holder(),
		"a lab user":            d.as(authn.Principal{Kind: authn.Session, SessionType: authn.LabUser, LabID: 12, LabUserID: 79, Permissions: may}),
		"the bill's doctor": d.as(authn.Principal{Kind: authn.Session, SessionType: authn.Doctor, LabID: 12, DoctorID: 301, DocType: &kind,
			Permissions: may}),
	}
	for patient, linked := range map[int64]bool{501: true, 502: false} {
		d.store.MoveReport(7001, patient)
		for who, ctx := range readers {
			list, err := d.ListRevisions(ctx, &externaleditv1.ListRevisionsRequest{LabReportId: 7001})
			if err != nil || len(list.GetRevisions()) != 1 {
				t.Fatalf("%s: %v, %v", who, list, err)
			}
			if r := list.GetRevisions()[0]; (r.GetWordUrl() != "") != linked || (r.GetPdfUrl() != "") != linked {
				t.Errorf("a report of patient %d, %s: %v, want links %t", patient, who, r, linked)
			}
		}
	}
}

// TestTwinsOfOneNameAreTwoPersons moves a report from one twin to the other. When the records are merged instead, the
// first one has no bill left, and the document stays.
func TestTwinsOfOneNameAreTwoPersons(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	for _, twin := range []int64{501, 502} {
		d.store.AddPatient(12, twin, "Baby of Sunita")
	}
	saved := func(what string, refused bool) { // the files of an admitted save are missing
		t.Helper()
		if err := d.UploadFiles(saving{ctx: d.holder(), edit: d.session.ID}); apperr.Is(err, apperr.Conflict) != refused {
			t.Errorf("a save %s: %v, want it refused: %t", what, err, refused)
		}
	}
	saved("of the first twin", false)
	d.store.MoveReport(7001, 502)
	saved("after the report moved to the other", true)
	d.store.MergePatient(501, 502)
	saved("after a merge", false)
}

// TestWhatIsUnknownOfTwoPatientsIsNotEqual gives the bill of one newborn to another one of the same name. Without a birth
// date, sex or name nothing shows that both records are of one person.
func TestWhatIsUnknownOfTwoPatientsIsNotEqual(t *testing.T) {
	t.Parallel()
	for _, unknown := range []struct {
		column string
		value  any
	}{{"dateOfBirth", nil}, {"dateOfBirth", "1800-01-01"}, {"gender", ""}, {"fullName", ""}} {
		d := newDesk(t)
		for _, newborn := range []int64{501, 502} {
			d.store.AddPatient(12, newborn, "Baby of Sunita")
		}
		d.store.MergePatient(501, 502)
		save := saving{ctx: d.holder(), edit: d.session.ID}
		if err := d.UploadFiles(save); apperr.Is(err, apperr.Conflict) {
			t.Errorf("a save after a merge: %v, want it admitted", err)
		}
		d.store.SetPatient(unknown.column, unknown.value)
		if err := d.UploadFiles(save); !apperr.Is(err, apperr.Conflict) {
			t.Errorf("%s is %v: a save for the second newborn: %v, want a conflict", unknown.column, unknown.value, err)
		}
	}
}

// TestASessionEndsWhenItsReferringDoctorLosesTheBill: the bill is assigned to another doctor while the first one edits the
// report. A department's doctor continues.
func TestASessionEndsWhenItsReferringDoctorLosesTheBill(t *testing.T) {
	t.Parallel()
	for kind, ends := range map[int]bool{0: false, 2: true} {
		d := newDesk(t)
		doctor := session.Author{ID: 301, Name: "Dr. Rao", IsDoctor: true}
		d.store.SetListed(12, doctor, true)
		if ends {
			d.store.SetReferring(12, doctor.ID)
		}
		if err := d.end(d.holder()); err != nil {
			t.Fatal(err)
		}
		created, err := d.CreateSession(d.as(authn.Principal{Kind: authn.Session, SessionType: authn.Doctor, LabID: 12, DoctorID: 301,
			DocType: &kind, FullName: doctor.Name, Permissions: []string{session.PermissionEdit}}),
			&externaleditv1.CreateSessionRequest{LabReportId: 7001, TemplateId: proto.Int64(1), WordS3Filepath: proto.String("templates/t.docx")})
		if err != nil {
			t.Fatal(err)
		}
		agent := d.as(authn.Principal{Kind: authn.Bearer, LabID: 12, DoctorID: 301, Grant: session.Grant{
			SessionID: created.GetEditId(), ReportID: 7001, Author: doctor, TokenID: "another"}})
		beat := func() error {
			_, err := d.Heartbeat(agent, &externaleditv1.HeartbeatRequest{EditId: created.GetEditId()})
			return err
		}
		if err := beat(); err != nil {
			t.Fatalf("docType %d, own bill: %v", kind, err)
		}
		d.store.AddReport(12, session.Report{ID: 7001, BillID: 9001, DoctorID: 302})
		if err := beat(); apperr.Is(err, apperr.Forbidden) != ends || !ends && err != nil {
			t.Errorf("docType %d, another doctor's bill: %v, want it refused: %t", kind, err, ends)
		}
	}
}

// TestADoctorHoldsASession checks that doctor 301 can open a session and gets its token, but lab user 301, who is
// another person, does not.
func TestADoctorHoldsASession(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	if err := d.end(d.holder()); err != nil {
		t.Fatal(err)
	}
	may := []string{session.PermissionEdit}
	doctor := authn.Principal{Kind: authn.Session, SessionType: authn.Doctor, LabID: 12, DoctorID: 301, FullName: "Dr. Rao", Permissions: may}
	user := authn.Principal{Kind: authn.Session, SessionType: authn.LabUser, LabID: 12, LabUserID: 301, Permissions: may}
	support := authn.Principal{Kind: authn.Session, SessionType: authn.Support, LabID: 12, LabUserID: 301, Permissions: may}
	without := doctor
	without.Permissions = nil
	create := func(p authn.Principal) (*externaleditv1.CreateSessionResponse, error) {
		return d.CreateSession(d.as(p), &externaleditv1.CreateSessionRequest{LabReportId: 7001, TemplateId: proto.Int64(1),
			WordS3Filepath: proto.String("templates/t.docx")})
	}
	for who, p := range map[string]authn.Principal{"support": support, "a doctor without permission": without} {
		if _, err := create(p); !apperr.Is(err, apperr.Forbidden) {
			t.Errorf("%s: got %v, want kind Forbidden", who, err)
		}
	}
	created, err := create(doctor)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		who   authn.Principal
		token string
	}{{doctor, "token"}, {user, ""}} {
		shown, err := d.GetSession(d.as(c.who), &externaleditv1.GetSessionRequest{LabReportId: 7001})
		if err != nil || shown.GetAuthToken() != c.token || shown.GetAuthorName() != "Dr. Rao" {
			t.Errorf("%s sees %v, %v", c.who.SessionType, shown, err)
		}
	}
	end := &externaleditv1.EndSessionRequest{EditId: created.GetEditId()}
	if _, err := d.EndSession(d.as(user), end); !apperr.Is(err, apperr.Forbidden) {
		t.Errorf("the user of the same number ends it: %v", err)
	}
	if _, err := d.EndSession(d.as(doctor), end); err != nil {
		t.Error(err)
	}
}
