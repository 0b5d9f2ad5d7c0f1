package authorization

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/pkg/clock"
	"github.com/labplatform/labplatform/pkg/config"
)

// token returns an Authorization header of the service caller for audience. behalf, if not empty, is the service on
// whose behalf it calls.
func token(t *testing.T, caller, audience, behalf string) string {
	t.Helper()
	secret := config.Secret(platform.Endpoints.Environ["rerun"]["RERUN_SERVICE_TOKEN_SECRET"])
	text, err := authn.NewServiceTokens(secret, caller, clock.System{}).Mint(audience, behalf)
	if err != nil {
		t.Fatal(err)
	}
	return "Bearer " + text
}

// TestServices sends every cell of services.txt to the gRPC ports and to the gateway's internal listener, and compares
// the response with the cell.
func TestServices(t *testing.T) {
	apply(t, owners)
	rows, columns, err := servicesTable()
	if err != nil {
		t.Fatal(err)
	}
	operations := operationsOf(t)
	sent, begin := 0, time.Now()
	for _, row := range rows {
		service := strings.Split(row.name, ".")[1]
		address, deployed := platform.Endpoints.GRPC[service]
		if !deployed {
			if withPipeline() {
				t.Errorf("%s: no one serves it", row.name)
			}
			t.Logf("%s is not sent: %s needs the pipeline, which LAB_PIPELINE=off leaves out", row.name, service)
			continue
		}
		for _, caller := range columns {
			for _, problem := range []string{
				byGRPC(t, address, service, row, caller), byGateway(t, operations[row.name], service, row, caller),
			} {
				if sent++; problem != "" {
					t.Errorf("%s by %s: want %s, got %s", row.name, caller, row.cells[caller], problem)
				}
			}
		}
		for _, operation := range operations[row.name] {
			refusedInside(t, operation)
		}
	}
	t.Logf("%d cells sent in %.0f s", sent, time.Since(begin).Seconds())
}

// byGRPC calls the method with an empty message and returns the difference from the table, or "".
func byGRPC(t *testing.T, address, service string, row line, caller string) string {
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	headers := [][]string{{"authorization", token(t, caller, service, "")}, {"authorization", token(t, "gateway", service, caller)}}
	if caller == "person" {
		headers = [][]string{{"cookie", "sessionid=us"}}
	}
	connection, err := grpc.NewClient(address, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return err.Error()
	}
	defer connection.Close()
	for _, header := range headers {
		refused, answer := refusal(ctx, connection, row.name, header)
		if row.cells[caller] == "1" && strings.HasPrefix(answer, codes.Unauthenticated.String()) {
			return ""
		}
		if refused != (row.cells[caller] == "3") {
			return "by gRPC: " + answer
		}
	}
	if row.cells[caller] == "y" && caller != "person" { // a service cannot call on behalf of a permitted one
		_, answer := refusal(ctx, connection, row.name, []string{"authorization", token(t, "search", service, caller)})
		if !strings.HasPrefix(answer, codes.Unauthenticated.String()) {
			return "by search on behalf of it: " + answer
		}
	}
	return ""
}

// refusal reports whether the contract refuses the caller. Other errors, such as those of an invalid request, do not
// count.
func refusal(ctx context.Context, c *grpc.ClientConn, method string, header []string) (refused bool, answer string) {
	ctx = metadata.AppendToOutgoingContext(ctx, header...)
	stream, err := c.NewStream(ctx, &grpc.StreamDesc{ServerStreams: true, ClientStreams: true}, "/"+method)
	if err == nil {
		_ = stream.SendMsg(&emptypb.Empty{}) // RecvMsg returns the error
		_ = stream.CloseSend()
		err = stream.RecvMsg(&emptypb.Empty{})
	}
	code, text := status.Code(err), status.Convert(err).Message()
	listed := !strings.Contains(text, "may not call this method") && !strings.Contains(text, "Only services of the platform")
	return code == codes.PermissionDenied && !listed, fmt.Sprint(code, " ", text)
}

// byGateway calls the method's operations on the internal listener and returns the difference from the table, or "".
func byGateway(t *testing.T, operations []string, service string, row line, caller string) string {
	if caller == "person" {
		return ""
	}
	for _, operation := range operations {
		code, body := inside(t, operation, http.Header{"Authorization": {token(t, caller, "gateway", "")}, "X-Is-Internal-Request": {"True"}})
		if (code == http.StatusForbidden) != (row.cells[caller] == "3") || code == http.StatusUnauthorized {
			return fmt.Sprintf("%s on the internal listener: %d %.200s", operation, code, body)
		}
	}
	return ""
}

// refusedInside sends requests with credentials that the internal listener refuses for every operation.
func refusedInside(t *testing.T, operation string) {
	t.Helper()
	internal := []string{"True"}
	for what, header := range map[string]http.Header{
		"a person":           {"Cookie": {"sessionid=us"}, "X-Is-Internal-Request": internal},
		"another audience":   {"Authorization": {token(t, "core", "rerun", "")}, "X-Is-Internal-Request": internal},
		"without the header": {"Authorization": {token(t, "core", "gateway", "")}},
		"search for core":    {"Authorization": {token(t, "search", "gateway", "core")}, "X-Is-Internal-Request": internal},
	} {
		if code, body := inside(t, operation, header); code != http.StatusUnauthorized {
			t.Errorf("%s by %s on the internal listener: want 401, got %d %.200s", operation, what, code, body)
		}
	}
}

// inside sends a request about a nonexistent object to the internal listener.
func inside(t *testing.T, operation string, header http.Header) (int, string) {
	method, path, _ := strings.Cut(operation, " ")
	body := "{}"
	if strings.HasPrefix(requests[operation].body, "[") {
		body = "[]"
	}
	request, err := http.NewRequestWithContext(t.Context(), method, platform.Endpoints.GatewayInternal+
		owner{}.fill(path), strings.NewReader(body))
	if err != nil {
		return 0, err.Error()
	}
	request.Header = header
	header.Set("Content-Type", "application/json")
	return exchange(request, wholly)
}
