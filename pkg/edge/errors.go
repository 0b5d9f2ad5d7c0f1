package edge

import (
	"context"
	"errors"
	"net/http"
	"os"
	"regexp"
	"strconv"
	"strings"

	"github.com/grpc-ecosystem/grpc-gateway/v2/runtime"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/labplatform/labplatform/pkg/apperr"
	"github.com/labplatform/labplatform/pkg/httpserver"
	"github.com/labplatform/labplatform/pkg/labjson"
	"github.com/labplatform/labplatform/pkg/ratelimit"
	"github.com/labplatform/labplatform/pkg/rpcerr"
)

// handleError writes the error of a matched route: an error of the service, of the transport or of the generated
// handlers. The Go text of generated handlers is never sent.
func (m *Mux) handleError(
	ctx context.Context,
	_ *runtime.ServeMux,
	_ runtime.Marshaler,
	w http.ResponseWriter,
	r *http.Request,
	err error,
) {
	noteRoute(ctx)
	a := m.area
	limits := a.limits(r.Method, routed(r))
	if errors.Is(context.Cause(r.Context()), httpserver.ErrStopping) {
		httpserver.WriteError(w, a.Shape, errStopping)
		return
	}
	if body, ok := r.Body.(*requestBody); ok && errors.Is(body.err, os.ErrDeadlineExceeded) {
		status := http.StatusRequestTimeout
		if limits.upload {
			status = http.StatusBadRequest
		}
		httpserver.WriteJSON(w, status, a.Shape(status, apperr.New(apperr.Invalid, "BODY_TOO_SLOW",
			"The body arrived too slowly. Send it again.")))
		return
	}
	e := limits.allow(explain(a, r, err))
	if c := callFrom(ctx); c != nil {
		c.reason = e.Reason
	}
	writeLimits(ctx, w.Header())
	httpserver.WriteError(w, a.Shape, e)
}

// writeLimits passes the rate limit of a refused request on; other headers of services belong to successful responses.
func writeLimits(ctx context.Context, header http.Header) {
	md, _ := runtime.ServerMetadataFromContext(ctx)
	for _, key := range []string{ratelimit.PolicyHeader, ratelimit.StateHeader} {
		if values := md.HeaderMD.Get(key); len(values) > 0 {
			header.Set(outgoing[key], values[0])
		}
	}
}

var errStopping = apperr.New(apperr.Unavailable, "STOPPING", "This server is being replaced. Send the request again.")

// allow returns e with the status that the path documents: uploads use 400 for every invalid body, other paths have a
// separate status for its size.
func (l limits) allow(e *apperr.Error) *apperr.Error {
	if l.upload && e.Kind == apperr.TooLarge {
		return apperr.New(apperr.Invalid, e.Reason, e.Message)
	}
	return e
}

func explain(a *Area, r *http.Request, err error) *apperr.Error {
	if body, ok := r.Body.(*requestBody); ok && body.err != nil {
		return BodyError(body.err)
	}
	st := status.Convert(err)
	if hasInfo(st) {
		return rpcerr.FromStatus(st)
	}
	switch st.Code() {
	case codes.InvalidArgument:
		return parameterError(st.Message())
	case codes.Unavailable:
		return apperr.New(
			apperr.Unavailable,
			"SERVICE_UNAVAILABLE",
			a.Title+" does not answer right now. Try again in a moment.",
		)
	case codes.DeadlineExceeded:
		return apperr.New(apperr.DeadlineExceeded, "DEADLINE_EXCEEDED", "That took too long. Try again.")
	case codes.Canceled:
		if errors.Is(context.Cause(r.Context()), context.DeadlineExceeded) { // an upload's own deadline
			return apperr.New(apperr.DeadlineExceeded, "DEADLINE_EXCEEDED", "That took too long. Try again.")
		}
		return apperr.New(apperr.Canceled, "CANCELED", "the caller canceled the request")
	case codes.Unimplemented:
		return apperr.New(apperr.Unimplemented, "NOT_IMPLEMENTED", a.Title+" does not offer this here.")
	case codes.ResourceExhausted:
		return apperr.New(
			apperr.TooLarge,
			"MESSAGE_TOO_LARGE",
			"The request or its answer is too large. Ask for less at once.",
		)
	}
	return rpcerr.FromStatus(rpcerr.ToStatus(errors.New("unexplained")))
}

// hasInfo reports whether a service of the platform created the error, as opposed to a library on the way.
func hasInfo(st *status.Status) bool {
	for _, detail := range st.Details() {
		if info, ok := detail.(*errdetails.ErrorInfo); ok && info.GetDomain() == rpcerr.Domain {
			return true
		}
	}
	return false
}

var elementPath = regexp.MustCompile(`^\[(\d+)\]\.?(.*)$`)

// BodyError returns the error to send for a body that could not be read or decoded.
func BodyError(err error) *apperr.Error {
	var tooLarge *http.MaxBytesError
	var wrongType *labjson.TypeError
	var syntax *labjson.SyntaxError
	var unknown *labjson.UnknownFieldsError
	switch {
	case errors.As(err, &tooLarge):
		return tooLargeError(tooLarge.Limit)
	case errors.As(err, &wrongType):
		field := apperr.Field{Index: -1, Name: wrongType.Path, Message: wrongType.Error()}
		if m := elementPath.FindStringSubmatch(wrongType.Path); m != nil {
			field.Index, _ = strconv.Atoi(m[1])
			field.Name, field.Message = m[2], wrongType.Message()
		}
		return apperr.InvalidFields(field)
	case errors.As(err, &syntax), errors.As(err, &unknown):
		return apperr.New(apperr.Invalid, "INVALID_BODY", err.Error())
	}
	return apperr.New(apperr.Invalid, "INVALID_BODY", "the body could not be read; send it again")
}

func tooLargeError(limit int64) *apperr.Error {
	return apperr.Newf(apperr.TooLarge, "BODY_TOO_LARGE", "The body is larger than %d bytes. Send less at once.", limit)
}

var parameterName = regexp.MustCompile(`parameter: (\w+)|(?:field|parsing)[^"]*"(\w+)"`)

// parameterError returns the error for a path or query parameter that cannot be parsed. text is the message of the
// generated code or of queryParser, which only serves to find the parameter's name.
func parameterError(text string) *apperr.Error {
	if m := misspeltParameter.FindStringSubmatch(text); m != nil {
		return apperr.InvalidField(m[1], m[1]+" is not a parameter; it is written "+m[2])
	}
	if m := repeatedParameter.FindStringSubmatch(text); m != nil {
		return apperr.InvalidField(m[1], m[1]+" may be given once")
	}
	m := parameterName.FindStringSubmatch(text)
	if m == nil {
		return apperr.New(apperr.Invalid, "INVALID_ARGUMENT", "the request is not valid")
	}
	name := m[1] + m[2]
	return apperr.InvalidField(name, name+" must be a whole number")
}

// handleRouting writes the error of a request that no route matched: 404, 405 with the allowed methods, or 400 for a
// path that cannot be decoded.
func (m *Mux) handleRouting(
	_ context.Context,
	_ *runtime.ServeMux,
	_ runtime.Marshaler,
	w http.ResponseWriter,
	r *http.Request,
	httpStatus int,
) {
	a := m.area
	switch httpStatus {
	case http.StatusMethodNotAllowed:
		allowed := m.routes.methods(routed(r))
		w.Header().Set("Allow", strings.Join(allowed, ", "))
		httpserver.WriteJSON(w, httpStatus, a.Shape(httpStatus, apperr.Newf(apperr.Invalid, "METHOD_NOT_ALLOWED",
			"%s is not offered on this path. Use %s.", r.Method, strings.Join(allowed, " or "))))
	case http.StatusNotFound:
		writeNoSuchPath(w, a)
	default:
		httpserver.WriteError(w, a.Shape, apperr.New(apperr.Invalid, "INVALID_PATH", "the path is not valid"))
	}
}

func writeNoSuchPath(w http.ResponseWriter, a *Area) {
	httpserver.WriteError(
		w,
		a.Shape,
		apperr.New(apperr.NotFound, "NO_SUCH_PATH", "There is no such path. The API reference is at /docs."),
	)
}
