package grpcserver

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/labplatform/labplatform/pkg/apperr"
	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/pkg/rpcerr"
	"github.com/labplatform/labplatform/pkg/slots"
	"github.com/labplatform/labplatform/pkg/telemetry"
	typev1 "github.com/labplatform/labplatform/proto/gen/lab/type/v1"
)

const (
	// shave is subtracted from the caller's deadline, so that the response arrives before the caller times out.
	shave = 20 * time.Millisecond
	// minimumWork is the remaining time below which a call is refused.
	minimumWork = 20 * time.Millisecond
	refusedWait = time.Second
	overloaded  = "OVERLOADED"
)

// owner identifies whose calls share a limit: a laboratory, or a service that calls for all laboratories.
type owner struct {
	lab     int64
	service string
}

func ownerOf(p authn.Principal) owner { return owner{p.LabID, p.Caller} }

type interceptors struct {
	stopping  context.Context // ends when the server starts to stop
	deadline  time.Duration
	calls     *slots.Slots[owner]
	streams   *slots.Slots[owner] // slots of server streams
	uploads   *slots.Slots[owner] // slots of client streams
	refused   prometheus.Counter
	panics    *prometheus.CounterVec
	auth      Authenticator
	anonymous map[string]bool
	callers   map[string]*typev1.Callers
	further   map[string]string // see Config.FurtherCallers
	responses Responses
	// repeatable are the methods whose requests with an idempotency key are executed once here.
	repeatable map[string]protoreflect.MethodDescriptor
	log        *slog.Logger
	telemetry  *telemetry.Telemetry
}

func newInterceptors(stopping context.Context, cfg Config, deps Deps, m metrics) *interceptors {
	anonymous := make(map[string]bool, len(deps.Anonymous))
	for _, method := range deps.Anonymous {
		anonymous[method] = true
	}
	repeatable := map[string]protoreflect.MethodDescriptor{}
	if deps.Responses != nil {
		repeatable = Repeatable()
		maps.DeleteFunc(repeatable, func(method string, _ protoreflect.MethodDescriptor) bool {
			return slices.Contains(deps.OwnKeys, method)
		})
	}
	return &interceptors{
		responses: deps.Responses, repeatable: repeatable,
		stopping: stopping,
		deadline: time.Duration(cfg.DefaultDeadlineSeconds) * time.Second,
		calls:    slots.New[owner](cfg.MaxInFlight), streams: slots.New[owner](cmp.Or(cfg.MaxStreams, defaultStreams)),
		uploads: slots.New[owner](cmp.Or(cfg.MaxUploads, cfg.MaxInFlight)),
		refused: m.refused, panics: m.panics,
		auth: deps.Authenticator, anonymous: anonymous, callers: Callers(), further: cfg.FurtherCallers,
		log: deps.Telemetry.Logger, telemetry: deps.Telemetry,
	}
}

func (i *interceptors) recoverUnary(
	ctx context.Context,
	req any,
	info *grpc.UnaryServerInfo,
	next grpc.UnaryHandler,
) (resp any, err error) {
	defer i.rescue(ctx, info.FullMethod, &err)
	return next(ctx, req)
}

func (i *interceptors) recoverStream(
	srv any,
	stream grpc.ServerStream,
	info *grpc.StreamServerInfo,
	next grpc.StreamHandler,
) (err error) {
	defer i.rescue(stream.Context(), info.FullMethod, &err)
	return next(srv, stream)
}

// rescue turns a panic into an error, which is logged and counted like any other. The stack is logged; the panic's
// value may contain patient data and is discarded.
func (i *interceptors) rescue(ctx context.Context, method string, err *error) {
	p := recover()
	if p == nil {
		return
	}
	i.panics.WithLabelValues(method).Inc()
	i.log.ErrorContext(ctx, "handler panicked", "method", method,
		"type", fmt.Sprintf("%T", p), "stack", string(debug.Stack()))
	*err = apperr.New(apperr.Internal, "", "").WithCause(fmt.Errorf("panic of type %T", p))
}

func (i *interceptors) deadlineUnary(
	ctx context.Context,
	req any,
	_ *grpc.UnaryServerInfo,
	next grpc.UnaryHandler,
) (any, error) {
	limit := time.Now().Add(i.deadline)
	if wanted, ok := ctx.Deadline(); ok && wanted.Add(-shave).Before(limit) {
		limit = wanted.Add(-shave)
	}
	if time.Until(limit) < minimumWork {
		return nil, apperr.New(apperr.DeadlineExceeded, "TOO_LITTLE_TIME",
			"too little time is left for this call; try again with a longer deadline")
	}
	ctx, cancel := context.WithDeadline(ctx, limit)
	defer cancel()
	return next(ctx, req)
}

// isInfrastructure reports whether method belongs to gRPC's own services, health and reflection: they need no
// credential and take no slot.
func isInfrastructure(method string) bool { return strings.HasPrefix(method, "/grpc.") }

func (i *interceptors) limitUnary(
	ctx context.Context,
	req any,
	info *grpc.UnaryServerInfo,
	next grpc.UnaryHandler,
) (any, error) {
	if isInfrastructure(info.FullMethod) {
		return next(ctx, req)
	}
	leave, err := i.enter(ctx, i.calls)
	if err != nil {
		return nil, err
	}
	defer leave()
	return next(ctx, req)
}

func (i *interceptors) limitStream(
	srv any,
	stream grpc.ServerStream,
	info *grpc.StreamServerInfo,
	next grpc.StreamHandler,
) error {
	if isInfrastructure(info.FullMethod) {
		return next(srv, stream)
	}
	free := i.uploads
	if info.IsServerStream {
		free = i.streams
	}
	leave, err := i.enter(stream.Context(), free) // streams last long, so they do not use the slots of calls
	if err != nil {
		return err
	}
	defer leave()
	return next(srv, stream)
}

// endStream ends a stream of responses when the server stops, because a graceful stop would wait for it. The reader
// reconnects, as it does when its connection reaches its maximum age.
func (i *interceptors) endStream(
	srv any,
	stream grpc.ServerStream,
	info *grpc.StreamServerInfo,
	next grpc.StreamHandler,
) error {
	if !info.IsServerStream {
		return next(srv, stream)
	}
	ctx, cancel := context.WithCancel(stream.Context())
	defer cancel()
	defer context.AfterFunc(i.stopping, cancel)()
	err := next(srv, &streamWith{stream, ctx})
	if i.stopping.Err() != nil && stream.Context().Err() == nil && errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}

// enter takes a slot for the principal of ctx, so it runs after authentication. It returns an Unavailable error if the
// principal has no slot left.
func (i *interceptors) enter(ctx context.Context, s *slots.Slots[owner]) (leave func(), err error) {
	if leave := s.Take(ownerOf(authn.FromContext(ctx))); leave != nil {
		return leave, nil
	}
	i.refused.Inc()
	return nil, apperr.New(apperr.Unavailable, overloaded, "The service is busy. Try again in a moment.").
		WithRetryAfter(refusedWait)
}

// finishUnary maps the error of a call and logs the call once.
func (i *interceptors) finishUnary(
	ctx context.Context,
	req any,
	info *grpc.UnaryServerInfo,
	next grpc.UnaryHandler,
) (any, error) {
	start := time.Now()
	ctx = named(ctx)
	resp, err := next(ctx, req)
	return resp, i.finish(ctx, info.FullMethod, start, err)
}

func (i *interceptors) finishStream(
	srv any,
	stream grpc.ServerStream,
	info *grpc.StreamServerInfo,
	next grpc.StreamHandler,
) error {
	start := time.Now()
	ctx := named(stream.Context())
	return i.finish(ctx, info.FullMethod, start, next(srv, &streamWith{stream, ctx}))
}

func (i *interceptors) finish(ctx context.Context, method string, start time.Time, err error) error {
	if err == nil {
		i.log.DebugContext(ctx, "call done", "method", method, "ms", time.Since(start).Milliseconds())
		return nil
	}
	st := rpcerr.ToStatus(err)
	attrs := []any{
		"method",
		method,
		"code",
		st.Code().String(),
		"ms",
		time.Since(start).Milliseconds(),
	}
	e, typed := apperr.From(err)
	if typed {
		attrs = append(attrs, "reason", e.Reason)
	}
	if !failure(st.Code()) || (typed && e.Reason == overloaded) { // overload causes many lines, and it has a metric
		i.log.InfoContext(ctx, "call refused", attrs...)
		return st.Err()
	}
	i.log.ErrorContext(ctx, "call failed", append(attrs, "error", apperr.WithCauses(err))...)
	if st.Code() == codes.Internal {
		i.telemetry.Report("internal error in " + method)
	}
	return st.Err()
}

// failure reports whether the code is the server's fault rather than the caller's.
func failure(code codes.Code) bool {
	switch code {
	case codes.Internal, codes.Unavailable, codes.DeadlineExceeded, codes.Unknown:
		return true
	default:
		return false
	}
}

// named returns ctx with the id of the caller's request.
func named(ctx context.Context) context.Context {
	md, _ := metadata.FromIncomingContext(ctx)
	return telemetry.WithRequestID(ctx, first(md, "x-request-id"))
}

func (i *interceptors) authenticateUnary(
	ctx context.Context,
	req any,
	info *grpc.UnaryServerInfo,
	next grpc.UnaryHandler,
) (any, error) {
	ctx, err := i.authenticate(ctx, info.FullMethod)
	if err != nil {
		return nil, err
	}
	if asksAdmission(ctx) {
		return &emptypb.Empty{}, nil
	}
	return next(ctx, req)
}

// AdmissionHeader is the metadata of a call that only asks whether the caller would be admitted: it is authenticated
// like any call of its method, and its handler does not run. An edge asks before it reads a large body.
const AdmissionHeader = "x-lab-admission"

func asksAdmission(ctx context.Context) bool {
	md, _ := metadata.FromIncomingContext(ctx)
	return first(md, AdmissionHeader) != ""
}

func (i *interceptors) authenticateStream(
	srv any,
	stream grpc.ServerStream,
	info *grpc.StreamServerInfo,
	next grpc.StreamHandler,
) error {
	ctx, err := i.authenticate(stream.Context(), info.FullMethod)
	if err != nil {
		return err
	}
	if asksAdmission(ctx) {
		return stream.SendMsg(&emptypb.Empty{})
	}
	if !info.IsServerStream {
		return next(srv, &streamWith{stream, ctx})
	}
	ctx, done := i.whileLoggedIn(ctx, info.FullMethod)
	defer done()
	err = next(srv, &streamWith{stream, ctx})
	if ended := withdrawn(ctx); ended != nil {
		return ended
	}
	return err
}

// streamWith replaces the context of a stream.
type streamWith struct {
	grpc.ServerStream
	ctx context.Context
}

var _ grpc.ServerStream = (*streamWith)(nil)

func (s *streamWith) Context() context.Context { return s.ctx }

func (i *interceptors) authenticate(ctx context.Context, method string) (context.Context, error) {
	if isInfrastructure(method) {
		return ctx, nil
	}
	md, _ := metadata.FromIncomingContext(ctx)
	credentials := authn.Credentials{
		Authorization: first(md, "authorization"),
		Cookie:        first(md, "cookie"),
		Internal:      strings.EqualFold(first(md, "x-is-internal-request"), "true"),
	}
	if i.anonymous[method] && credentials.Authorization == "" && credentials.Cookie == "" {
		return ctx, nil
	}
	p, err := i.auth.Authenticate(ctx, credentials)
	if err != nil {
		return nil, err
	}
	if err := checkCertificate(ctx, p); err != nil {
		return nil, err
	}
	if err := i.admit(method, p); err != nil {
		return nil, err
	}
	return authn.NewContext(ctx, p), nil
}

func first(md metadata.MD, key string) string {
	if values := md.Get(key); len(values) > 0 {
		return values[0]
	}
	return ""
}
