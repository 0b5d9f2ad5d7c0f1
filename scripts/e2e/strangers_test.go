package e2e

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/labplatform/labplatform/pkg/testkit/await"
	"github.com/labplatform/labplatform/proto/openapi"
)

const (
	strangers       = 8                // concurrent connections per path
	strangerLife    = 10 * time.Second // maximum time until a connection is closed after the response, on a busy machine
	mostForStranger = 1 << 10          // KiB
)

// TestStrangersCostTheGatewayLittleMemory sends bodies of one megabyte to every documented path of a separate gateway,
// without a credential and with an invalid one, and checks the peak memory of the process.
func TestStrangersCostTheGatewayLittleMemory(t *testing.T) {
	port := freePort(t)
	gateway := startProgram(t, "gateway", "GATEWAY", map[string]string{
		"GATEWAY_PORT": port, "GATEWAY_INTERNAL_PORT": freePort(t), "GATEWAY_ADMIN_PORT": freePort(t)})
	await.Nil(t, "the gateway is ready", gateway.unready)
	start := gateway.memory(t, "VmRSS")
	for name, header := range map[string]string{"no credential": "", "an unknown token": "Authorization: Bearer x\r\n"} {
		for _, path := range documentedPaths(t) {
			gateway.forgetPeak(t)
			before := gateway.memory(t, "VmRSS")
			var all sync.WaitGroup
			for range strangers {
				all.Go(func() { beStranger(t, "127.0.0.1:"+port, path, header) })
			}
			all.Wait()
			grown := gateway.memory(t, "VmHWM") - before
			t.Logf("%6d KiB for %d senders with %s: %s", grown, strangers, name, path)
			if grown > strangers*mostForStranger {
				t.Errorf("%s with %s: %d KiB for %d senders, want at most %d", path, name, grown, strangers, strangers*mostForStranger)
			}
		}
	}
	t.Logf("%d MiB at the start, %d at the end", start>>10, gateway.memory(t, "VmRSS")>>10)
}

var pathParameter = regexp.MustCompile(`{[^}]*}`)

// documentedPaths returns the operations of the API document as "POST /api-v3/…".
func documentedPaths(t *testing.T) (paths []string) {
	t.Helper()
	var document struct {
		Paths map[string]map[string]json.RawMessage `json:"paths"`
	}
	if err := json.Unmarshal(openapi.Document, &document); err != nil {
		t.Fatal(err)
	}
	for path, operations := range document.Paths {
		for method := range operations {
			paths = append(paths, strings.ToUpper(method)+" "+pathParameter.ReplaceAllString(path, "1"))
		}
	}
	if len(paths) < 60 {
		t.Fatalf("%d documented operations, want at least 60", len(paths))
	}
	return slices.Sorted(slices.Values(paths))
}

// beStranger sends the header of a form's part that never ends, until the gateway closes the connection.
func beStranger(t *testing.T, address, path, header string) {
	connection, err := net.Dial("tcp", address)
	if err != nil {
		t.Error(err)
		return
	}
	defer connection.Close()
	_ = connection.SetDeadline(time.Now().Add(time.Minute))
	const size = 1_000_000
	fmt.Fprintf(connection, "%s HTTP/1.1\r\nHost: a\r\n%sContent-Type: multipart/form-data; boundary=xx\r\nContent-Length: %d\r\n\r\n--xx\r\nX-A: ",
		path, header, size)
	reader := bufio.NewReader(connection)
	go func() { _, _ = io.WriteString(connection, strings.Repeat("A", size-100)) }() // ends when the connection is closed
	response, err := http.ReadResponse(reader, nil)
	if err != nil {
		t.Errorf("%s: %v, want a refusal", path, err)
		return
	}
	refusals := []int{http.StatusUnauthorized, http.StatusNotFound, http.StatusNotImplemented}
	if !slices.Contains(refusals, response.StatusCode) { // 404: a path for services; 501: an area that is not deployed
		t.Errorf("%s: %d, want one of %v", path, response.StatusCode, refusals)
	}
	began := time.Now()
	for err == nil {
		_, err = reader.Discard(1)
	}
	if took := time.Since(began); took > strangerLife {
		t.Errorf("%s: the connection lived %v after the answer, want at most %v", path, took, strangerLife)
	}
}

// memory returns a field of /proc/<pid>/status in KiB: VmRSS, or VmHWM, the peak.
func (p *program) memory(t *testing.T, field string) int {
	t.Helper()
	text, err := os.ReadFile(p.proc("status"))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if value, ok := strings.CutPrefix(line, field+":"); ok {
			kilobytes, err := strconv.Atoi(strings.Fields(value)[0])
			if err != nil {
				t.Fatal(err)
			}
			return kilobytes
		}
	}
	t.Fatalf("no %s in %s", field, text)
	return 0
}

// forgetPeak resets the process's peak memory to its current memory.
func (p *program) forgetPeak(t *testing.T) {
	t.Helper()
	if err := os.WriteFile(p.proc("clear_refs"), []byte("5"), 0); err != nil {
		t.Fatal(err)
	}
}

func (p *program) proc(file string) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return filepath.Join("/proc", strconv.Itoa(p.cmd.Process.Pid), file)
}
