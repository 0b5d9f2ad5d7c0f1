package charts

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"

	"github.com/labplatform/labplatform/pkg/testkit/freeport"
)

// TestTheAuthorityOfTheReceiverOfTracesIsTrusted starts the gateway with and without the file of telemetry.caSecret.
// Only with it may the receiver be trusted.
func TestTheAuthorityOfTheReceiverOfTracesIsTrusted(t *testing.T) {
	t.Parallel()
	program := binary(t, "gateway")
	for _, mounted := range []bool{true, false} {
		t.Run(fmt.Sprintf("mounted %t", mounted), func(t *testing.T) {
			receiver, authority := startReceiver(t)
			env := tracing(t, receiver.address)
			if env["OTEL_EXPORTER_OTLP_CERTIFICATE"] != "/etc/lab/telemetry-ca/ca.crt" {
				t.Fatalf("the pod trusts %q", env["OTEL_EXPORTER_OTLP_CERTIFICATE"])
			}
			delete(env, "OTEL_EXPORTER_OTLP_CERTIFICATE")
			if mounted {
				env["OTEL_EXPORTER_OTLP_CERTIFICATE"] = authority
			}
			public := freeport.One(t)
			env["GATEWAY_HOST"], env["GATEWAY_DRAIN_DELAY_SECONDS"], env["GATEWAY_PORT"] = "127.0.0.1", "0", strconv.Itoa(public)
			env["GATEWAY_INTERNAL_PORT"], env["GATEWAY_ADMIN_PORT"] = strconv.Itoa(freeport.One(t)), strconv.Itoa(freeport.One(t))
			start(t, program, pairs(env))
			await(t, fmt.Sprintf("http://127.0.0.1:%d/openapi.json", public))
			if got := <-receiver.agreed; got != mounted {
				t.Errorf("the receiver was trusted: %t, want %t", got, mounted)
			}
		})
	}
}

// tracing returns the variables of a gateway's pod that sends every trace to an address whose certificate has its own
// authority.
func tracing(t *testing.T, address string) map[string]string {
	t.Helper()
	list, err := render(load(t, "gateway"), map[string]any{"telemetry": map[string]any{
		"otlpEndpoint": "https://" + address, "caSecret": "collector-ca", "sampleRate": 1}})
	if err != nil {
		t.Fatal(err)
	}
	env := processEnvironment(t, "gateway")
	for _, v := range object[appsv1.Deployment](t, list, "Deployment", "gateway").Spec.Template.Spec.Containers[0].Env {
		if v.ValueFrom == nil {
			env[v.Name] = v.Value
		}
	}
	return env
}

type receiver struct {
	address string
	agreed  chan bool // for each connection, whether its client trusted the certificate
}

// startReceiver listens with a self-signed certificate and returns the file of its authority.
func startReceiver(t *testing.T) (receiver, string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true,
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "ca.crt")
	if err := os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o600); err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	started := receiver{listener.Addr().String(), make(chan bool)}
	config := &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}, NextProtos: []string{"h2"}}
	go func() {
		for {
			connection, err := listener.Accept()
			if err != nil {
				return
			}
			started.judge(t, tls.Server(connection, config))
		}
	}()
	return started, file
}

// judge reads the first bytes of a connection. A client that does not trust the certificate sends none.
func (r receiver) judge(t *testing.T, connection *tls.Conn) {
	defer func() { _ = connection.Close() }()
	preface := make([]byte, len(http.MethodGet))
	_, err := connection.Read(preface)
	select {
	case r.agreed <- err == nil:
	case <-t.Context().Done():
	}
}
