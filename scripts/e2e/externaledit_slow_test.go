package e2e

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"
)

// TestExternalEditASlowUploadIsRefused sends a body at one byte per second until the gateway ends the request.
func TestExternalEditASlowUploadIsRefused(t *testing.T) {
	t.Parallel()
	report := editReport(t)
	id, token := openSession(t, editor(t, 12, "report_edit"), report, creation)
	conn, err := net.Dial("tcp", strings.TrimPrefix(stack.Endpoints.Gateway, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	body, contentType := formOf(savedPair(t, "slow"))
	fmt.Fprintf(conn, "POST %s/agent/%d HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\nContent-Type: %s\r\nContent-Length: %d\r\n\r\n",
		editPath, id, token, contentType, len(body))
	go func() {
		for _, b := range body {
			if _, err := conn.Write([]byte{b}); err != nil {
				return
			}
			pause(t.Context(), time.Second)
		}
	}()
	_ = conn.SetReadDeadline(time.Now().Add(time.Minute))
	response, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	text, _ := io.ReadAll(response.Body)
	if response.StatusCode != 400 || !strings.Contains(string(text), "too slowly") {
		t.Errorf("%s %s", response.Status, text)
	}
	if left := objectsOf(t, report); left != "" {
		t.Errorf("stored %s", left)
	}
}
