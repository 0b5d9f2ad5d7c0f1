package grpcapi_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"
	"pgregory.net/rapid"

	"github.com/labplatform/labplatform/pkg/apperr"
	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/pkg/testkit/property"
	rerunv1 "github.com/labplatform/labplatform/proto/gen/lab/rerun/v1"
	typev1 "github.com/labplatform/labplatform/proto/gen/lab/type/v1"
	"github.com/labplatform/labplatform/services/rerun/internal/autorerun"
	"github.com/labplatform/labplatform/services/rerun/internal/grpcapi"
	"github.com/labplatform/labplatform/services/rerun/internal/listing"
	"github.com/labplatform/labplatform/services/rerun/internal/request"
	"github.com/labplatform/labplatform/services/rerun/internal/rerun"
)

// useCases is a fake that records its arguments.
type useCases struct {
	scope    authn.LabScope
	command  request.Command
	readings []autorerun.Reading
	verdict  autorerun.Verdict
	listing  listing.Listing
}

func (u *useCases) Request(_ context.Context, scope authn.LabScope, c request.Command) (rerun.Record, error) {
	u.scope, u.command = scope, c
	return rerun.Record{ID: "id-1", Type: c.Type, Number: max(c.Number, 1)}, nil
}

func (u *useCases) Evaluate(
	_ context.Context, scope authn.LabScope, _ int64, readings []autorerun.Reading,
) (autorerun.Verdict, error) {
	u.scope, u.readings = scope, readings
	return u.verdict, nil
}

func (u *useCases) List(_ context.Context, scope authn.LabScope, _ int64) (listing.Listing, error) {
	u.scope = scope
	return u.listing, nil
}

func server(u *useCases) *grpcapi.Server {
	return grpcapi.New(grpcapi.Deps{DocumentStore: true, Requester: u, Evaluator: u, Lister: u})
}

func as(t testing.TB, p authn.Principal) context.Context {
	t.Helper()
	return grpc.NewContextWithServerTransportStream(authn.NewContext(t.Context(), p), &stream{})
}

// stream records the response headers of a call.
type stream struct {
	grpc.ServerTransportStream

	header metadata.MD
}

func (s *stream) SetHeader(md metadata.MD) error {
	s.header = metadata.Join(s.header, md)
	return nil
}

var asha = authn.Principal{Kind: authn.Session, SessionType: authn.LabUser, LabID: 12, LabUserID: 77,
	FullName: "Asha R"}

func raw(s string) *typev1.RawJSON {
	if s == "" {
		return nil
	}
	return &typev1.RawJSON{Json: []byte(s)}
}

func body(indices string) *rerunv1.RequestRerunRequest {
	return &rerunv1.RequestRerunRequest{ReportId: 7001, Type: proto.String("Manual"), RequestedParameters: raw(indices)}
}

func TestRequestedParametersAreReadInTheirForms(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][]int{
		`"[1, 3, 5]"`: {1, 3, 5}, `"1,3,5"`: {1, 3, 5}, `[1, 3, 5]`: {1, 3, 5}, `"[7]"`: {7}, `"7"`: {7},
		`["1", "3"]`: {1, 3}, `" [ 2 ,1 ] "`: {2, 1},
		`"[0]"`: {0},
		``:      nil, `""`: nil, `"[]"`: nil, `[]`: nil, `"[1,1]"`: nil, `[1, 1]`: nil, `[1.5]`: nil, `[1e1]`: nil,
		`"a"`: nil, `7`: nil, `{"a":1}`: nil,
		`"[1"`: nil, `"1,"`: nil, `[null]`: nil, `[[1]]`: nil, `"+1"`: nil, `[99999999999]`: nil, `true`: nil,
	} {
		u := &useCases{}
		_, err := server(u).RequestRerun(as(t, asha), body(text))
		if (want == nil) != apperr.Is(err, apperr.Invalid) {
			t.Errorf("%s: error %v", text, err)
		}
		if diff := cmp.Diff(want, u.command.Requested); diff != "" {
			t.Errorf("%s (-want +got):\n%s", text, diff)
		}
	}
}

func TestARerunNumberIsAnIntegerOrItsText(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int{``: 0, `1`: 1, `"2"`: 2, `" 3 "`: 3, `null`: 0, `0`: -1, `"0"`: -1, `-1`: -1,
		`1.5`: -1, `"x"`: -1, `[1]`: -1, `true`: -1, `9e9`: -1} {
		in := body(`"[1]"`)
		in.RerunNumber = raw(text)
		u := &useCases{}
		_, err := server(u).RequestRerun(as(t, asha), in)
		if (want < 0) != apperr.Is(err, apperr.Invalid) || (want >= 0 && u.command.Number != want) {
			t.Errorf("%s: number %d, error %v", text, u.command.Number, err)
		}
	}
}

func TestOtherFieldsOfARequestAreChecked(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*rerunv1.RequestRerunRequest){
		"type missing":   func(r *rerunv1.RequestRerunRequest) { r.Type = nil },
		"type unknown":   func(r *rerunv1.RequestRerunRequest) { r.Type = proto.String("Instrument") },
		"not active":     func(r *rerunv1.RequestRerunRequest) { r.IsActive = proto.Bool(false) },
		"no report":      func(r *rerunv1.RequestRerunRequest) { r.ReportId = 0 },
		"long sample":    func(r *rerunv1.RequestRerunRequest) { r.SampleId = proto.String(strings.Repeat("x", 65)) },
		"long name":      func(r *rerunv1.RequestRerunRequest) { r.ParameterNames = []string{strings.Repeat("x", 256)} },
		"too many names": func(r *rerunv1.RequestRerunRequest) { r.ParameterNames = make([]string, 501) },
		"too many indices": func(r *rerunv1.RequestRerunRequest) {
			r.RequestedParameters = raw(`"` + strings.Repeat("1,", 500) + `1"`)
		},
	} {
		in := body(`"[1]"`)
		change(in)
		if _, err := server(&useCases{}).RequestRerun(as(t, asha), in); !apperr.Is(err, apperr.Invalid) {
			t.Errorf("%s: got %v, want kind Invalid", name, err)
		}
	}
}

func TestTheAnswerNamesTheTypeAndTheActingUser(t *testing.T) {
	t.Parallel()
	u := &useCases{}
	in := body(`"[1, 3]"`)
	in.Type, in.IsActive, in.LabId, in.RerunNumber = proto.String("auto"), proto.Bool(true), proto.Int64(12), raw(`"1"`)
	got, err := server(u).RequestRerun(as(t, authn.Principal{Kind: authn.Service, Caller: "taskqueue", Internal: true}),
		in)
	want := &rerunv1.RequestRerunResponse{Message: "Auto Sample rerun requested successfully", RerunId: "id-1",
		RerunNumber: 1, SampleRedrawFlag: 3}
	if diff := cmp.Diff(want, got, protocmp.Transform()); diff != "" || err != nil {
		t.Fatalf("got %v %s, want none", err, diff)
	}
	if u.command.Actor.ID != -1 || u.scope.LabID() != 12 {
		t.Fatalf("actor %+v, laboratory %d", u.command.Actor, u.scope.LabID())
	}
	got, err = server(u).RequestRerun(as(t, asha), body(`"1"`))
	if err != nil || got.GetMessage() != "Manual Sample rerun requested successfully" ||
		u.command.Actor != (authn.Actor{Kind: authn.ActorLabUser, ID: 77, Name: "Asha R"}) {
		t.Fatalf("%v %v %+v", got, err, u.command.Actor)
	}
}

func TestWhoMayCall(t *testing.T) {
	t.Parallel()
	user := func(kind authn.Kind, session authn.SessionType) authn.Principal {
		return authn.Principal{Kind: kind, SessionType: session, LabID: 12}
	}
	for name, c := range map[string]struct {
		principal authn.Principal
		labID     int64
		want      apperr.Kind
		fine      bool
	}{
		"lab user":                   {principal: user(authn.Session, authn.LabUser), fine: true},
		"support":                    {principal: user(authn.Session, authn.Support), fine: true},
		"instrument interface":       {principal: user(authn.Bearer, ""), want: apperr.Forbidden},
		"bearer of a lab user":       {principal: user(authn.Bearer, authn.LabUser), fine: true},
		"its own laboratory named":   {principal: user(authn.Session, authn.LabUser), labID: 12, fine: true},
		"service":                    {principal: authn.Principal{Kind: authn.Service}, labID: 12, fine: true},
		"service without laboratory": {principal: authn.Principal{Kind: authn.Service}, want: apperr.Invalid},
		"doctor":                     {principal: user(authn.Session, authn.Doctor), want: apperr.Forbidden},
		"organization":               {principal: user(authn.Session, authn.Organization), want: apperr.Forbidden},
		"collection center":          {principal: user(authn.Session, authn.CollectionCenter), want: apperr.Forbidden},
		"bearer of a doctor":         {principal: user(authn.Bearer, authn.Doctor), want: apperr.Forbidden},
		"no login":                   {want: apperr.Forbidden},
		"another laboratory named":   {principal: user(authn.Session, authn.LabUser), labID: 13, want: apperr.NotFound},
		"support without a laboratory": {principal: authn.Principal{Kind: authn.Session, SessionType: authn.Support},
			want: apperr.Invalid},
		"support without, one is named": {principal: authn.Principal{Kind: authn.Session, SessionType: authn.Support},
			labID: 13, want: apperr.Invalid},
	} {
		in := body(`"[1]"`)
		if c.labID != 0 {
			in.LabId = proto.Int64(c.labID)
		}
		_, err := server(&useCases{}).RequestRerun(as(t, c.principal), in)
		if c.fine != (err == nil) || (err != nil && apperr.KindOf(err) != c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestWithoutADocumentStoreEveryOperationSaysSo(t *testing.T) {
	t.Parallel()
	s := grpcapi.New(grpcapi.Deps{})
	ctx := as(t, asha)
	for name, call := range operations(s) {
		if err := call(ctx); !apperr.Is(err, apperr.Invalid) || err.Error() != "Document store is not enabled" {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func operations(s *grpcapi.Server) map[string]func(context.Context) error {
	return map[string]func(context.Context) error{
		"list": func(ctx context.Context) error {
			_, err := s.ListReruns(ctx, &rerunv1.ListRerunsRequest{LabReportId: 7001})
			return err
		},
		"new": func(ctx context.Context) error {
			_, err := s.AddValues(ctx, &rerunv1.AddValuesRequest{ReportId: 7001})
			return err
		},
		"request": func(ctx context.Context) error {
			_, err := s.RequestRerun(ctx, body(`"[1]"`))
			return err
		},
		"confirm": func(ctx context.Context) error {
			_, err := s.ConfirmRerun(ctx, &rerunv1.ConfirmRerunRequest{LabReportId: 7001})
			return err
		},
		"abort": func(ctx context.Context) error {
			_, err := s.AbortRerun(ctx, &rerunv1.AbortRerunRequest{LabReportId: 7001})
			return err
		},
		"auto": func(ctx context.Context) error {
			_, err := s.EvaluateAutoRerun(ctx, &rerunv1.EvaluateAutoRerunRequest{LabReportId: 7001,
				DeviceData: []*rerunv1.DeviceValue{{Index: proto.Int32(1)}}})
			return err
		},
	}
}

func TestDeviceDataIsReadAndChecked(t *testing.T) {
	t.Parallel()
	u := &useCases{verdict: autorerun.Verdict{Qualifying: []int{1, 3}, Undecided: []int{4}, Unknown: []int{0}}}
	got, err := server(u).EvaluateAutoRerun(as(t, asha), &rerunv1.EvaluateAutoRerunRequest{LabReportId: 7001,
		DeviceData: []*rerunv1.DeviceValue{
			{Index: proto.Int32(1), Value: raw(`"<0.4"`)}, {Index: proto.Int32(3), Value: raw(`12.50`)}, {Index: proto.Int32(0)},
			{Index: proto.Int32(4), Value: raw(`null`)}}})
	want := &rerunv1.EvaluateAutoRerunResponse{Message: "Auto rerun queued successfully",
		QualifyingParameters: []int32{1, 3}, UndecidedParameters: []int32{4}, UnknownIndices: []int32{0}}
	if diff := cmp.Diff(want, got, protocmp.Transform()); diff != "" || err != nil {
		t.Fatalf("got %v %s, want none", err, diff)
	}
	if diff := cmp.Diff([]autorerun.Reading{{Index: 1, Value: "<0.4"}, {Index: 3, Value: "12.50"}, {Index: 0}, {Index: 4}},
		u.readings); diff != "" {
		t.Fatal(diff)
	}
	for name, rows := range map[string][]*rerunv1.DeviceValue{
		"nothing": nil, "no index": {{Value: raw(`1`)}}, "an object": {{Index: proto.Int32(1), Value: raw(`{}`)}},
		"a flag": {{Index: proto.Int32(1), Value: raw(`true`)}},
		"long":   {{Index: proto.Int32(1), Value: raw(`"` + strings.Repeat("é", 257) + `"`)}},
		"many":   make([]*rerunv1.DeviceValue, 501),
	} {
		if _, err := server(u).EvaluateAutoRerun(as(t, asha), &rerunv1.EvaluateAutoRerunRequest{LabReportId: 7001,
			DeviceData: rows}); !apperr.Is(err, apperr.Invalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
	u.verdict = autorerun.Verdict{}
	got, err = server(u).EvaluateAutoRerun(as(t, asha), &rerunv1.EvaluateAutoRerunRequest{LabReportId: 7001,
		DeviceData: []*rerunv1.DeviceValue{{Index: proto.Int32(1)}}})
	if err != nil || got.GetMessage() != "Auto rerun didn't qualify for these values" {
		t.Fatalf("got %v %v, want Auto rerun didn't qualify for these values", got, err)
	}
}

func TestTheListingShowsValuesBesideThePresentOnes(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 11, 21, 15, 30, 0, 5_000_000, time.FixedZone("IST", 19800))
	u := &useCases{listing: listing.Listing{
		Flag: rerun.Requested, AsOf: at,
		Values: []listing.Value{
			{Value: rerun.Value{ID: "v", LabID: 12, Index: 1, Number: 1, Value: "13.5", CreatedAt: at,
				History: []rerun.Earlier{{Value: "13.4", DeviceID: "d", DeviceName: "D", CreatedAt: at}}},
				NamingTest: proto.Int64(0), TestName: "Blood count", Original: proto.String("13.1")},
			{Value: rerun.Value{ID: "w", LabID: 12, Index: 2, Number: 1, CreatedAt: at}}},
		Open: []listing.OpenRequest{{Record: rerun.Record{ID: "r", Type: rerun.Manual, Number: 1, Requested: []int{1, 3},
			CreatedBy: 77, CreatedAt: at}, Pending: []int{3}}},
	}}
	ctx := as(t, asha)
	got, err := server(u).ListReruns(ctx, &rerunv1.ListRerunsRequest{LabReportId: 7001})
	want := &rerunv1.ListRerunsResponse{SampleRedrawFlag: 3, AsOf: "2026-11-21T10:00:00.005Z",
		Reruns: []*rerunv1.RerunValue{
			{XId: "v", LabId: 12, Index: 1, RerunNumber: 1, Value: "13.5", CreatedAt: "2026-11-21T10:00:00.005Z",
				OriginalValue: proto.String("13.1"), ProfileTestId: proto.Int64(0), TestName: "Blood count",
				History: []*rerunv1.EarlierValue{{Value: "13.4", DeviceId: "d", DeviceName: "D", CreatedAt: "2026-11-21T10:00:00.005Z"}}},
			{XId: "w", LabId: 12, Index: 2, RerunNumber: 1, CreatedAt: "2026-11-21T10:00:00.005Z"}},
		PendingRequests: []*rerunv1.PendingRequest{{RerunId: "r", Type: "Manual", RerunNumber: 1,
			RequestedParameters: []int32{1, 3},
			PendingParameters:   []int32{3}, CreatedBy: 77, CreatedAt: "2026-11-21T10:00:00.005Z"}}}
	if diff := cmp.Diff(want, got, protocmp.Transform()); diff != "" || err != nil {
		t.Fatalf("listing, %v (-want +got):\n%s", err, diff)
	}
	header := grpc.ServerTransportStreamFromContext(ctx).(*stream).header
	if got := header.Get("etag"); len(got) != 1 || got[0] != `"1795255200005"` {
		t.Errorf("ETag %q, want the milliseconds of as_of", got)
	}
}

func TestAnInstrumentReadsSendsAndEvaluates(t *testing.T) {
	t.Parallel()
	s := grpcapi.New(grpcapi.Deps{DocumentStore: true, Requester: &useCases{}, Evaluator: &useCases{}, Lister: &useCases{},
		Receiver: &results{}, Closer: &results{}, Editors: &results{}})
	instrument := as(t, authn.Principal{Kind: authn.Bearer, LabID: 12})
	for name, call := range operations(s) {
		refused := name == "request" || name == "confirm" || name == "abort"
		if err := call(instrument); apperr.Is(err, apperr.Forbidden) != refused {
			t.Errorf("%s: %v, want 403: %v", name, err, refused)
		}
	}
}

func TestNoTextMakesTheServerPanic(t *testing.T) {
	t.Parallel()
	s := server(&useCases{})
	ctx := as(t, asha)
	property.Check(t, func(t *rapid.T) {
		text := rapid.OneOf(rapid.String(), rapid.StringMatching(`"?\[?[0-9, "]*\]?"?`)).Draw(t, "text")
		in := body(text)
		in.RerunNumber = raw(rapid.String().Draw(t, "number"))
		if got, err := s.RequestRerun(ctx, in); (err == nil) == (got == nil) {
			t.Fatalf("answer %v and error %v", got, err)
		}
	})
}
