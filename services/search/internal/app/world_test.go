package app

import (
	"encoding/pem"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/emptypb"
)

// world has fakes of the servers with which the service communicates: an engine over HTTP and HTTPS, and collectors of
// traces and errors. All record what they receive.
type world struct {
	place *strings.Replacer // replaces addresses by names

	mu       sync.Mutex // guards the following fields
	told     strings.Builder
	status   int // status of the engine's responses
	inFlight int
	most     int // maximum number of concurrent requests seen
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{status: http.StatusOK}
	plain, secure := httptest.NewServer(http.HandlerFunc(w.answer)), httptest.NewTLSServer(http.HandlerFunc(w.answer))
	t.Cleanup(plain.Close)
	t.Cleanup(secure.Close)
	certificate := filepath.Join(t.TempDir(), "ca.crt")
	text := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: secure.Certificate().Raw})
	if err := os.WriteFile(certificate, text, 0o600); err != nil {
		t.Fatal(err)
	}
	w.place = strings.NewReplacer("$INDEX", plain.URL, "$SECURE", secure.URL, "$CERT", certificate, "$TRACES", w.collector(t),
		"$REPORTS", strings.Replace(plain.URL, "://", "://key@", 1)+"/1", "$SECRET", strings.Repeat("k", 32))
	return w
}

// heard returns what was received since the previous call.
func (w *world) heard() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	defer w.told.Reset()
	return w.told.String()
}

func (w *world) tell(format string, args ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	fmt.Fprintf(&w.told, format+"\n", args...)
}

// wait is how long a request is kept open, so that a second one can arrive meanwhile.
const wait = 50 * time.Millisecond

func (w *world) answer(to http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	w.tell("%s %s %s %s", r.Method, r.URL, r.Header.Get("Authorization"), body)
	w.mu.Lock()
	w.inFlight++
	w.most = max(w.most, w.inFlight)
	status := w.status
	w.mu.Unlock()
	<-time.After(wait)
	w.mu.Lock()
	w.inFlight--
	w.mu.Unlock()
	to.Header().Set("X-Elastic-Product", "Elasticsearch")
	to.Header().Set("Content-Type", "application/json")
	to.WriteHeader(status)
	_, _ = io.WriteString(to, `{"hits":{"total":{"value":0,"relation":"eq"},"hits":[]}}`)
}

// collector starts a trace collector that records traces as bytes.
func (w *world) collector(t *testing.T) string {
	t.Helper()
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := grpc.NewServer(grpc.UnknownServiceHandler(func(_ any, stream grpc.ServerStream) error {
		var message emptypb.Empty
		if err := stream.RecvMsg(&message); err != nil {
			return err
		}
		bytes, _ := proto.Marshal(&message)
		headers, _ := metadata.FromIncomingContext(stream.Context())
		w.tell("traces %v %s", headers.Get("authorization"), bytes)
		return stream.SendMsg(&emptypb.Empty{})
	}))
	t.Cleanup(server.Stop)
	go func() { _ = server.Serve(listener) }()
	return listener.Addr().String()
}
