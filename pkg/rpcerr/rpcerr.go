// Package rpcerr converts between apperr errors and gRPC statuses: kind and code, reason as ErrorInfo, wrong fields as
// BadRequest, waiting time as RetryInfo.
//
// An error without an apperr becomes Internal with a fixed message, so that the text of drivers does not reach a
// caller. Exceptions: errors of a context become Canceled or DeadlineExceeded, and a gRPC status passes unchanged, with
// its text.
package rpcerr

import (
	"context"
	"encoding/json"
	"errors"
	"strconv"
	"strings"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/protoadapt"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/labplatform/labplatform/pkg/apperr"
)

// Domain is the ErrorInfo domain of the platform's errors.
const Domain = "labplatform"

// StatusMetadata is the response metadata with which a service sets the HTTP status of a successful call, from 400 to
// 499; the edge responds with that status and the normal body.
const StatusMetadata = "x-http-code"

const (
	internalMessage = "Something went wrong on our side. Try again; if it stays, give support the X-Request-Id of the answer."
	detailsKey      = "details"
	dataKey         = "data"
)

var codeOf = map[apperr.Kind]codes.Code{
	apperr.Internal:         codes.Internal,
	apperr.Invalid:          codes.InvalidArgument,
	apperr.Unauthenticated:  codes.Unauthenticated,
	apperr.Forbidden:        codes.PermissionDenied,
	apperr.NotFound:         codes.NotFound,
	apperr.Conflict:         codes.FailedPrecondition,
	apperr.TooLarge:         codes.OutOfRange,
	apperr.TooManyRequests:  codes.ResourceExhausted,
	apperr.Unavailable:      codes.Unavailable,
	apperr.DeadlineExceeded: codes.DeadlineExceeded,
	apperr.Unimplemented:    codes.Unimplemented,
	apperr.Canceled:         codes.Canceled,
}

var kindOf = func() map[codes.Code]apperr.Kind {
	m := make(map[codes.Code]apperr.Kind, len(codeOf))
	for kind, code := range codeOf {
		m[code] = kind
	}
	return m
}()

// Code returns the gRPC code of a kind.
func Code(kind apperr.Kind) codes.Code { return codeOf[kind] }

// ToStatus converts any non-nil error into the status that callers may see.
func ToStatus(err error) *status.Status {
	e, ok := apperr.From(err)
	if !ok {
		return untyped(err)
	}
	e = own(err, e)
	if e.Kind == apperr.Internal && e.Reason == "" {
		return status.New(codes.Internal, internalMessage)
	}
	info := &errdetails.ErrorInfo{Reason: e.Reason, Domain: Domain}
	info.Metadata = map[string]string{}
	if e.Details != "" {
		info.Metadata[detailsKey] = e.Details
	}
	if len(e.Data) > 0 {
		info.Metadata[dataKey] = string(e.Data)
	}
	details := []protoadapt.MessageV1{info}
	if len(e.Fields) > 0 {
		details = append(details, badRequest(e.Fields))
	}
	if e.RetryAfter > 0 {
		details = append(details, &errdetails.RetryInfo{RetryDelay: durationpb.New(e.RetryAfter)})
	}
	st := status.New(codeOf[e.Kind], e.Message)
	if with, err := st.WithDetails(details...); err == nil {
		return with
	}
	return st
}

// untyped converts an error without an apperr: context errors by their meaning, a status unchanged, anything else to
// Internal.
func untyped(err error) *status.Status {
	switch {
	case errors.Is(err, context.Canceled):
		return status.New(codes.Canceled, "the caller canceled the request")
	case errors.Is(err, context.DeadlineExceeded):
		return status.New(codes.DeadlineExceeded, "that took too long; try again")
	}
	if st, ok := status.FromError(err); ok && st.Code() != codes.Unknown {
		return st
	}
	return status.New(codes.Internal, internalMessage)
}

// FromError returns the apperr error that a server sent, so that callers branch on kinds instead of codes. Errors of
// the transport get their kind too. It returns nil for nil, and an error that is not a status unchanged.
func FromError(err error) error {
	if err == nil {
		return nil
	}
	st, ok := status.FromError(err)
	if !ok {
		return err
	}
	return FromStatus(st).WithCause(err)
}

// FromStatus returns the apperr error of a status.
func FromStatus(st *status.Status) *apperr.Error {
	e := apperr.New(kindOf[st.Code()], "", st.Message())
	for _, detail := range st.Details() {
		switch d := detail.(type) {
		case *errdetails.ErrorInfo:
			e.Reason, e.Details = d.GetReason(), d.GetMetadata()[detailsKey]
			if data := d.GetMetadata()[dataKey]; json.Valid([]byte(data)) {
				e.Data = json.RawMessage(data)
			}
		case *errdetails.BadRequest:
			e.Fields = fields(d)
		case *errdetails.RetryInfo:
			e.RetryAfter = d.GetRetryDelay().AsDuration()
		}
	}
	return e
}

func badRequest(fields []apperr.Field) *errdetails.BadRequest {
	out := &errdetails.BadRequest{}
	for _, f := range fields {
		name := f.Name
		if f.Index >= 0 {
			name = "[" + strconv.Itoa(f.Index) + "]." + f.Name
		}
		out.FieldViolations = append(out.FieldViolations,
			&errdetails.BadRequest_FieldViolation{Field: name, Description: f.Message})
	}
	return out
}

func fields(d *errdetails.BadRequest) []apperr.Field {
	out := make([]apperr.Field, 0, len(d.GetFieldViolations()))
	for _, v := range d.GetFieldViolations() {
		f := apperr.Field{Index: -1, Name: v.GetField(), Message: v.GetDescription()}
		if rest, ok := strings.CutPrefix(f.Name, "["); ok {
			if index, name, ok := strings.Cut(rest, "]."); ok {
				if n, err := strconv.Atoi(index); err == nil {
					f.Index, f.Name = n, name
				}
			}
		}
		out = append(out, f)
	}
	return out
}
