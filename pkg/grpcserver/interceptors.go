package grpcserver

import (
	"context"
	"fmt"
	"log/slog"
	"runtime/debug"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"

	"github.com/labplatform/labplatform/pkg/apperr"
	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/pkg/rpcerr"
	"github.com/labplatform/labplatform/pkg/telemetry"
)

const (
	// shave is kept back from the caller's deadline, so that our answer arrives before the caller gives up.
	shave = 20 * time.Millisecond
	// minimumWork is the least time in which starting makes sense.
	minimumWork   = 20 * time.Millisecond
	refusedWait   = time.Second
	healthService = "/grpc.health.v1.Health/"
)

type interceptors struct {
	deadline  time.Duration
	slots     chan struct{}
	refused   prometheus.Counter
	auth      Authenticator
	anonymous map[string]bool
	log       *slog.Logger
	telemetry *telemetry.Telemetry
}

func newInterceptors(cfg Config, deps Deps, refused prometheus.Counter) *interceptors {
	anonymous := make(map[string]bool, len(deps.Anonymous))
	for _, method := range deps.Anonymous {
		anonymous[method] = true
	}
	return &interceptors{
		deadline: time.Duration(cfg.DefaultDeadlineSeconds) * time.Second,
		slots:    make(chan struct{}, cfg.MaxInFlight), refused: refused,
		auth: deps.Authenticator, anonymous: anonymous,
		log: deps.Telemetry.Logger, telemetry: deps.Telemetry,
	}
}

func (i *interceptors) recoverUnary(ctx context.Context, req any, info *grpc.UnaryServerInfo, next grpc.UnaryHandler) (resp any, err error) {
	defer i.rescue(ctx, info.FullMethod, &err)
	return next(ctx, req)
}

func (i *interceptors) recoverStream(srv any, stream grpc.ServerStream, info *grpc.StreamServerInfo, next grpc.StreamHandler) (err error) {
	defer i.rescue(stream.Context(), info.FullMethod, &err)
	return next(srv, stream)
}

// rescue turns a panic into Internal. The stack goes to the log; the panic's value may hold a patient's data
// and goes nowhere.
func (i *interceptors) rescue(ctx context.Context, method string, err *error) {
	if p := recover(); p != nil {
		i.log.ErrorContext(ctx, "handler panicked", "method", method, "type", fmt.Sprintf("%T", p), "stack", string(debug.Stack()))
		i.telemetry.Report("panic in " + method)
		*err = rpcerr.ToStatus(apperr.New(apperr.Internal, "", "")).Err()
	}
}

func (i *interceptors) deadlineUnary(ctx context.Context, req any, _ *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
	limit := time.Now().Add(i.deadline)
	if asked, ok := ctx.Deadline(); ok && asked.Add(-shave).Before(limit) {
		limit = asked.Add(-shave)
	}
	if time.Until(limit) < minimumWork {
		return nil, rpcerr.ToStatus(apperr.New(apperr.DeadlineExceeded, "TOO_LITTLE_TIME", "too little time is left for this call; try again with a longer deadline")).Err()
	}
	ctx, cancel := context.WithDeadline(ctx, limit)
	defer cancel()
	return next(ctx, req)
}

func (i *interceptors) limitUnary(ctx context.Context, req any, info *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
	if strings.HasPrefix(info.FullMethod, healthService) {
		return next(ctx, req)
	}
	if err := i.enter(); err != nil {
		return nil, err
	}
	defer i.leave()
	return next(ctx, req)
}

func (i *interceptors) limitStream(srv any, stream grpc.ServerStream, info *grpc.StreamServerInfo, next grpc.StreamHandler) error {
	if strings.HasPrefix(info.FullMethod, healthService) {
		return next(srv, stream)
	}
	if err := i.enter(); err != nil {
		return err
	}
	defer i.leave()
	return next(srv, stream)
}

func (i *interceptors) enter() error {
	select {
	case i.slots <- struct{}{}:
		return nil
	default:
		i.refused.Inc()
		return apperr.New(apperr.TooManyRequests, "OVERLOADED", "The service is busy. Try again in a moment.").WithRetryAfter(refusedWait)
	}
}

func (i *interceptors) leave() { <-i.slots }

// finishUnary maps the error and writes the one log line of a call that failed.
func (i *interceptors) finishUnary(ctx context.Context, req any, info *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
	start := time.Now()
	resp, err := next(ctx, req)
	return resp, i.finish(ctx, info.FullMethod, start, err)
}

func (i *interceptors) finishStream(srv any, stream grpc.ServerStream, info *grpc.StreamServerInfo, next grpc.StreamHandler) error {
	start := time.Now()
	return i.finish(stream.Context(), info.FullMethod, start, next(srv, stream))
}

func (i *interceptors) finish(ctx context.Context, method string, start time.Time, err error) error {
	if err == nil {
		i.log.DebugContext(ctx, "call done", "method", method, "ms", time.Since(start).Milliseconds())
		return nil
	}
	st := rpcerr.ToStatus(err)
	md, _ := metadata.FromIncomingContext(ctx)
	attrs := []any{"method", method, "request_id", first(md, "x-request-id"), "code", st.Code().String(), "ms", time.Since(start).Milliseconds()}
	if e, ok := apperr.From(err); ok {
		attrs = append(attrs, "reason", e.Reason)
	}
	switch st.Code() {
	case codes.Internal, codes.Unavailable, codes.DeadlineExceeded, codes.Unknown:
		i.log.ErrorContext(ctx, "call failed", append(attrs, "error", causes(err))...)
		if st.Code() == codes.Internal {
			i.telemetry.Report("internal error in " + method)
		}
	default:
		i.log.InfoContext(ctx, "call refused", attrs...)
	}
	return st.Err()
}

// causes prints the error behind a public message.
func causes(err error) string {
	text := err.Error()
	if e, ok := apperr.From(err); ok && e.Unwrap() != nil {
		return text + ": " + e.Unwrap().Error()
	}
	return text
}

func (i *interceptors) authenticateUnary(ctx context.Context, req any, info *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
	ctx, err := i.authenticate(ctx, info.FullMethod)
	if err != nil {
		return nil, err
	}
	return next(ctx, req)
}

func (i *interceptors) authenticateStream(srv any, stream grpc.ServerStream, info *grpc.StreamServerInfo, next grpc.StreamHandler) error {
	ctx, err := i.authenticate(stream.Context(), info.FullMethod)
	if err != nil {
		return err
	}
	return next(srv, &authenticatedStream{stream, ctx})
}

type authenticatedStream struct {
	grpc.ServerStream
	ctx context.Context
}

// Context returns the stream's context with the principal.
func (s *authenticatedStream) Context() context.Context { return s.ctx }

func (i *interceptors) authenticate(ctx context.Context, method string) (context.Context, error) {
	if strings.HasPrefix(method, healthService) {
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
	return authn.NewContext(ctx, p), nil
}

func first(md metadata.MD, key string) string {
	if values := md.Get(key); len(values) > 0 {
		return values[0]
	}
	return ""
}
