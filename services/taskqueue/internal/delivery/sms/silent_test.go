package sms_test

import (
	"io"
	"net"
	"testing"

	"github.com/labplatform/labplatform/pkg/netguard"
	"github.com/labplatform/labplatform/services/taskqueue/internal/delivery/provider"
	"github.com/labplatform/labplatform/services/taskqueue/internal/delivery/sms"
	"github.com/labplatform/labplatform/services/taskqueue/internal/job"
	"github.com/labplatform/labplatform/services/taskqueue/internal/worker"
)

// TestATextThatCannotBeReadIsNoAcceptanceBesideARuleOfFailure checks that a row that detects rejections by text does
// not treat an unreadable text as acceptance.
func TestATextThatCannotBeReadIsNoAcceptanceBesideARuleOfFailure(t *testing.T) {
	t.Parallel()
	for name, raw := range map[string]string{
		"cut":    "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nER",
		"packed": "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nConnection: close\r\n\r\n\x1f\x8b\x08",
		"UTF-16": "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n\xff\xfeE\x00R\x00R\x00",
		"empty":  "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n",
	} {
		url := says(t, raw)
		client := netguard.New(netguard.Config{AllowHTTP: true, AllowedHosts: []string{"127.0.0.1"}})
		t.Cleanup(client.Close)
		p, err := sms.NewGateway([]byte(`{"url":"`+url+`","body":"{}","success":{"text":"^OK"},"failure":{"text":"ERR"}}`),
			provider.Deps{API: client, Clock: fixed{}})
		if err != nil {
			t.Fatal(err)
		}
		body := job.Body{Task: 1, TaskType: 1, Data: []byte(`{"contact":9812345678,"countryCode":91,"message":"m"}`)}
		if _, err := p.Handle(t.Context(), worker.Delivery{ID: jobID, Body: &body}); provider.Outcome(err) != "unknown" {
			t.Errorf("%s: %s (%v), want unknown", name, provider.Outcome(err), err)
		}
	}
	if _, err := gateway(t, map[string]any{"url": "https://x.test/", "failure": map[string]any{"text": "ERR"}}); err == nil {
		t.Error("a row that would count every text without ERR as taken is in force")
	}
}

// says serves one response byte for byte. It returns the address.
func says(t *testing.T, answer string) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		c, err := l.Accept()
		if err != nil {
			return
		}
		_, _ = c.Read(make([]byte, 4096))
		_, _ = io.WriteString(c, answer)
		_ = c.Close()
	}()
	return "http://" + l.Addr().String() + "/"
}
