package grpcserver

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"google.golang.org/genproto/googleapis/api/annotations"
	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/descriptorpb"

	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/pkg/idempotency"
	"github.com/labplatform/labplatform/pkg/rpcerr"
)

// leaseMargin is added to a call's deadline: after both, the call counts as dead.
const leaseMargin = 5 * time.Second

// Responses executes a request with an idempotency key at most once and stores its response.
type Responses interface {
	Once(ctx context.Context, lab int64, request idempotency.Request, lease time.Duration,
		work func() ([]byte, error)) (response []byte, replayed bool, err error)
}

// Repeatable returns the methods, by full name, whose callers may send an idempotency key. These are POSTs without an
// idempotency_level, which would mean that the method can be repeated anyway. Uploads are left out, because their
// content identifies them.
func Repeatable() map[string]protoreflect.MethodDescriptor {
	table := map[string]protoreflect.MethodDescriptor{}
	eachMethod(func(name string, method protoreflect.MethodDescriptor) {
		options, _ := method.Options().(*descriptorpb.MethodOptions)
		unknown := options.GetIdempotencyLevel() == descriptorpb.MethodOptions_IDEMPOTENCY_UNKNOWN
		if unknown && !method.IsStreamingClient() && isPost(options) {
			table[name] = method
		}
	})
	return table
}

func isPost(options *descriptorpb.MethodOptions) bool {
	rule, _ := proto.GetExtension(options, annotations.E_Http).(*annotations.HttpRule)
	return rule.GetPost() != "" ||
		slices.ContainsFunc(rule.GetAdditionalBindings(), func(r *annotations.HttpRule) bool { return r.GetPost() != "" })
}

// stored is a response with the metadata that its handler sent.
type stored struct {
	Message []byte
	Header  metadata.MD
}

// recorder records the metadata of a response.
type recorder struct {
	grpc.ServerTransportStream
	header metadata.MD
}

var _ grpc.ServerTransportStream = (*recorder)(nil)

func (r *recorder) SetHeader(md metadata.MD) error {
	r.header = metadata.Join(r.header, md)
	return r.ServerTransportStream.SetHeader(md)
}

// refused reports whether the handler set an error status or marked the response as a refusal. The caller may then
// correct the request and send it again with the same key.
func (r *recorder) refused() bool {
	isError := func(status string) bool { return status >= "4" }
	return len(r.header.Get(idempotency.RefusedHeader)) > 0 ||
		slices.ContainsFunc(r.header.Get(rpcerr.StatusMetadata), isError)
}

// repeatUnary executes a request with an idempotency key once. Other requests are passed on.
func (i *interceptors) repeatUnary(
	ctx context.Context, req any, info *grpc.UnaryServerInfo, next grpc.UnaryHandler,
) (any, error) {
	keys := metadata.ValueFromIncomingContext(ctx, idempotency.KeyHeader)
	method, repeatable := i.repeatable[info.FullMethod]
	message, ok := req.(proto.Message)
	if len(keys) == 0 || !repeatable || !ok || authn.FromContext(ctx).Kind == authn.Anonymous {
		return next(ctx, req)
	}
	request, err := requestOf(ctx, keys, info.FullMethod, message)
	if err != nil {
		return nil, err
	}
	stream := &recorder{ServerTransportStream: grpc.ServerTransportStreamFromContext(ctx)}
	var response any
	before, replayed, err := i.responses.Once(ctx, labOf(ctx, message), request, i.lease(ctx), func() ([]byte, error) {
		response, err = next(grpc.NewContextWithServerTransportStream(ctx, stream), req)
		if err != nil || stream.refused() {
			return nil, err
		}
		out, ok := response.(proto.Message)
		if !ok {
			return nil, fmt.Errorf("%s answers with a %T", info.FullMethod, response)
		}
		encoded, err := proto.Marshal(out)
		if err != nil {
			return nil, err
		}
		return json.Marshal(stored{encoded, stream.header})
	})
	if err != nil || !replayed {
		return response, err
	}
	return replay(ctx, method, before)
}

func (i *interceptors) lease(ctx context.Context) time.Duration {
	deadline, ok := ctx.Deadline()
	if !ok {
		return i.deadline + leaseMargin
	}
	return time.Until(deadline) + leaseMargin
}

func requestOf(ctx context.Context, keys []string, method string, message proto.Message) (idempotency.Request, error) {
	if len(keys) > 1 {
		return idempotency.Request{}, idempotency.ErrKeyInvalid
	}
	body, err := proto.MarshalOptions{Deterministic: true}.Marshal(message)
	if err != nil {
		return idempotency.Request{}, err
	}
	for _, condition := range metadata.ValueFromIncomingContext(ctx, "if-match") {
		body = append(append(body, 0), condition...)
	}
	p := authn.FromContext(ctx)
	body = append(append(body, 0), rightsOf(p)...)
	return idempotency.Request{Actor: p.Actor(), Login: LoginOf(ctx, p), Key: keys[0], Operation: method, Body: body}, nil
}

// rightsOf returns the permissions and limits of a login. They are part of the request's hash, so that a login that has
// lost some of them does not get an earlier response.
func rightsOf(p authn.Principal) []byte {
	permissions := slices.Sorted(slices.Values(p.Permissions))
	return fmt.Appendf(nil, "%t %d %d %d %v %q", p.IsGlobalAdmin, p.BranchID, p.OrgID, p.CCID, p.DepartmentIDs, permissions)
}

// LoginOf distinguishes logins with the same id: users of one organization by their names, instruments, which have no
// names, by their tokens.
func LoginOf(ctx context.Context, p authn.Principal) string {
	if p.Kind == authn.Service || p.Username != "" {
		return p.Username
	}
	if token := metadata.ValueFromIncomingContext(ctx, "authorization"); p.IsInstrument() && len(token) > 0 {
		return fmt.Sprintf("%x", sha256.Sum256([]byte(token[0])))
	}
	return ""
}

// labOf returns the laboratory that an idempotency key belongs to: the login's, or the one that a service's request
// names.
func labOf(ctx context.Context, message proto.Message) int64 {
	p := authn.FromContext(ctx)
	if named, ok := message.(interface{ GetLabId() int64 }); ok && p.Kind == authn.Service {
		return named.GetLabId()
	}
	return p.LabID
}

func replay(ctx context.Context, method protoreflect.MethodDescriptor, before []byte) (any, error) {
	var s stored
	if err := json.Unmarshal(before, &s); err != nil {
		return nil, fmt.Errorf("read stored response: %w", err)
	}
	kind, err := protoregistry.GlobalTypes.FindMessageByName(method.Output().FullName())
	if err != nil {
		return nil, err
	}
	message := kind.New().Interface()
	if err := proto.Unmarshal(s.Message, message); err != nil {
		return nil, fmt.Errorf("read stored response: %w", err)
	}
	idempotency.MarkReplayed(ctx)
	return message, grpc.SetHeader(ctx, s.Header)
}
