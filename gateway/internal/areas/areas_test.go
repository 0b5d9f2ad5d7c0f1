package areas_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"

	"github.com/labplatform/labplatform/gateway/internal/areas"
	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/pkg/clock"
	"github.com/labplatform/labplatform/pkg/config"
	"github.com/labplatform/labplatform/pkg/edge"
	"github.com/labplatform/labplatform/pkg/grpcserver"
	"github.com/labplatform/labplatform/pkg/rpcerr"
	"github.com/labplatform/labplatform/pkg/telemetry"
)

const secret = config.Secret("ssssssssssssssssssssssssssssssss")

// backend replaces every service. It records the last call and returns err or, through reply, a message.
type backend struct {
	err   error
	reply func(method string, args, reply any, opts []grpc.CallOption)

	mu     sync.Mutex
	method string      // guarded by mu
	md     metadata.MD // guarded by mu
	args   any         // guarded by mu
	asked  int         // number of admissions, guarded by mu
}

func (b *backend) note(ctx context.Context, method string, args any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	md, _ := metadata.FromOutgoingContext(ctx)
	if len(md.Get(grpcserver.AdmissionHeader)) > 0 {
		b.asked++
		return
	}
	b.method, b.args, b.md = method, args, md
}

func (b *backend) seen() (string, metadata.MD, any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.method, b.md, b.args
}

func (b *backend) Invoke(ctx context.Context, method string, args, reply any, opts ...grpc.CallOption) error {
	b.note(ctx, method, args)
	if b.reply != nil {
		b.reply(method, args, reply, opts)
	}
	if b.err != nil {
		return rpcerr.ToStatus(b.err).Err()
	}
	return nil
}

func (b *backend) NewStream(ctx context.Context, _ *grpc.StreamDesc, method string, _ ...grpc.CallOption) (grpc.ClientStream, error) {
	b.note(ctx, method, nil)
	if b.err != nil {
		return nil, rpcerr.ToStatus(b.err).Err()
	}
	return nil, io.ErrUnexpectedEOF
}

func newEdge(t testing.TB, b grpc.ClientConnInterface) *edge.Edge {
	t.Helper()
	tel, err := telemetry.Start(t.Context(), "gateway", "test", telemetry.Config{Environment: "dev"}, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	connections := map[string]grpc.ClientConnInterface{}
	if b != nil {
		for _, area := range areas.List() {
			connections[area.Name] = b
		}
	}
	e, err := edge.New(t.Context(), edge.Deps{
		Telemetry: tel, Areas: areas.List(), Pages: []edge.Page{areas.Docs()}, Connections: connections,
		Tokens: authn.NewServiceTokens(secret, "gateway", clock.System{}),
	})
	if err != nil {
		t.Fatal(err)
	}
	return e
}

type request struct {
	method, path, body string
	header             map[string]string
}

func send(t *testing.T, handler http.Handler, r request) (int, string, http.Header) {
	t.Helper()
	request := httptest.NewRequestWithContext(t.Context(), r.method, r.path, strings.NewReader(r.body))
	for key, value := range r.header {
		request.Header.Set(key, value)
	}
	recorder := httptest.NewRecorder()
	handler.ServeHTTP(recorder, request)
	return recorder.Code, strings.TrimSpace(recorder.Body.String()), recorder.Header()
}

func serviceToken(t *testing.T, name, audience string) string {
	t.Helper()
	token, err := authn.NewServiceTokens(secret, name, clock.System{}).Mint(audience, "")
	if err != nil {
		t.Fatal(err)
	}
	return "Bearer " + token
}
