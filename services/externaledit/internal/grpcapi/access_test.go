package grpcapi

import (
	"context"
	"errors"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"

	"github.com/labplatform/labplatform/pkg/apperr"
	"github.com/labplatform/labplatform/pkg/authn"
	externaleditv1 "github.com/labplatform/labplatform/proto/gen/lab/externaledit/v1"
	typev1 "github.com/labplatform/labplatform/proto/gen/lab/type/v1"
	"github.com/labplatform/labplatform/services/externaledit/internal/editing"
	"github.com/labplatform/labplatform/services/externaledit/internal/history"
	"github.com/labplatform/labplatform/services/externaledit/internal/session"
	"github.com/labplatform/labplatform/services/externaledit/internal/store/memory"
	"github.com/labplatform/labplatform/services/externaledit/internal/store/storetest"
	"github.com/labplatform/labplatform/services/externaledit/internal/upload"
	"github.com/labplatform/labplatform/services/externaledit/internal/watch"
)

const ttl = 8 * time.Hour

// lenient limits, counts and watches nothing.
type lenient struct{}

func (lenient) Create(context.Context, authn.Principal) error   { return nil }
func (lenient) Retrieve(context.Context, authn.Principal) error { return nil }
func (lenient) Upload(context.Context, int64) error             { return nil }
func (lenient) Created()                                        {}
func (lenient) Refused()                                        {}
func (lenient) Restored()                                       {}
func (lenient) Uploaded(string)                                 {}
func (lenient) Received(string, int64)                          {}
func (lenient) Ended(session.EndReason)                         {}
func (lenient) Agent(bool)                                      {}
func (lenient) Mint(*session.Session) (string, error)           { return "token", nil }

func (lenient) Watch(context.Context, authn.LabScope, int64, string, func(watch.Entry) error) error {
	return nil
}

// desk is a server over stores in memory with a session of report 7001, whose bill is doctor 301's.
type desk struct {
	*Server
	t       *testing.T
	editing *editing.UseCase
	clock   *memory.Clock
	session session.Session
}

func newDesk(t *testing.T) *desk {
	t.Helper()
	store, files, clock := memory.New(), memory.NewFiles(), memory.NewClock(storetest.Now)
	store.AddReport(12, session.Report{ID: 7001, BillID: 9001, DoctorID: 301})
	store.AddTemplate(12, session.Template{ID: 1, Path: "templates/t.docx"}, false)
	files.Add("templates/t.docx", []byte("PK"))
	wake := func() {}
	d := &desk{t: t, clock: clock, session: storetest.Opened()}
	d.session.ExpiresAt = storetest.Now.Add(ttl)
	err := memory.Editing{Store: store}.Lock(t.Context(), storetest.Scope(t, 12), 7001,
		func(l editing.Locked) error { return l.Insert(t.Context(), &d.session) })
	if err != nil {
		t.Fatal(err)
	}
	d.editing = editing.New(editing.Deps{Reports: memory.Editing{Store: store}, Files: files, Tokens: lenient{}, Clock: clock, TTL: ttl,
		NewID: func() string { return "another" }, Wake: wake, Counters: lenient{}})
	d.Server = New(Deps{
		Editor: d.editing, Watcher: lenient{}, Linker: files, Limits: lenient{}, Observer: lenient{},
		Uploader: upload.New(upload.Deps{Reports: memory.Uploading{Store: store}, Files: files, Limits: lenient{}, Clock: clock, TTL: ttl,
			NewID: func() string { return "u" }, Wake: wake, Counters: lenient{}}),
		Historian: history.New(history.Deps{Reports: memory.History{Store: store}, Clock: clock, Wake: wake, Counters: lenient{}}),
	})
	return d
}

// events is a stream of a reader.
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

// paths are everything that is asked for about the report and its session.
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

// holder is who presents the session's token.
func (d *desk) holder() context.Context {
	return d.as(authn.Principal{Kind: authn.Bearer, LabID: 12, LabUserID: d.session.Author.ID, Grant: session.Grant{
		SessionID: d.session.ID, ReportID: 7001, UserID: d.session.Author.ID, TokenID: d.session.TokenID}})
}

func (d *desk) end(ctx context.Context) error {
	_, err := d.EndSession(ctx, &externaleditv1.EndSessionRequest{EditId: d.session.ID})
	return err
}

// TestATokenOpensNothingAfterItsSessionEnded tries every path after every way in which a session ends. The end itself
// may be repeated.
func TestATokenOpensNothingAfterItsSessionEnded(t *testing.T) {
	t.Parallel()
	admin := authn.Principal{Kind: authn.Session, SessionType: authn.LabUser, LabID: 12, LabUserID: 79,
		Permissions: []string{permissionEdit, permissionTakeOver}}
	for way, end := range map[string]func(*desk) error{
		"ended by its author": func(d *desk) error { return d.end(d.holder()) },
		"ended by force":      func(d *desk) error { return d.paths()["force-end"](d.as(admin)) },
		"taken over":          func(d *desk) error { return d.paths()["create"](d.as(admin)) },
		"expired":             func(d *desk) error { d.clock.Advance(ttl + time.Second); return nil },
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
			t.Fatalf("%s: %v", way, err)
		}
		for name, path := range d.paths() {
			if err := path(d.holder()); !apperr.Is(err, apperr.Forbidden) {
				t.Errorf("%s after the session was %s: %v, want it refused", name, way, err)
			}
		}
		if err := d.end(d.holder()); err != nil {
			t.Errorf("the end repeated after the session was %s: %v", way, err)
		}
	}
}

func TestAReferringDoctorSeesReportsOfOwnBillsAlone(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	doctor := func(id int64, kind int) context.Context {
		return d.as(authn.Principal{Kind: authn.Session, SessionType: authn.Doctor, LabID: 12, DoctorID: id, DocType: &kind,
			Permissions: []string{permissionEdit, permissionTakeOver}})
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
	for _, name := range []string{"create", "restore", "force-end"} {
		if err := d.paths()[name](doctor(301, 2)); !apperr.Is(err, apperr.Forbidden) {
			t.Errorf("%s by a doctor: %v", name, err)
		}
	}
}
