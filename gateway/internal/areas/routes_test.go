package areas_test

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/labplatform/labplatform/gateway/internal/areas"
	"github.com/labplatform/labplatform/pkg/edge"
)

const table = "testdata/routes.golden"

func TestTheTableOfRoutesIsThatOfTheContracts(t *testing.T) {
	t.Parallel()
	var lines strings.Builder
	for _, r := range edge.Routes(areas.List()) {
		fmt.Fprintln(&lines, r.Method, r.Path, r.RPC)
	}
	if os.Getenv("UPDATE_GOLDEN") != "" {
		if err := os.WriteFile(table, []byte(lines.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(table)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), lines.String()); diff != "" {
		t.Fatalf("%s and the contracts differ; run make generate and read its difference:\n%s", table, diff)
	}
}

var placeholder = regexp.MustCompile(`\{(\w+)\}`)

func example(path string) string {
	return placeholder.ReplaceAllStringFunc(path, func(name string) string {
		switch name {
		case "{action}":
			return "read"
		case "{gateway}":
			return "fcm"
		case "{file}":
			return "fcm-sw.js"
		}
		return "7001"
	})
}

func TestEveryPathCallsItsRPCWithAndWithoutASlash(t *testing.T) {
	t.Parallel()
	for _, route := range edge.Routes(areas.List()) {
		for _, slash := range []string{"", "/"} {
			b := &backend{}
			e := newEdge(t, b)
			listener, header := e.Public(), map[string]string{}
			if strings.HasSuffix(route.Path, "/critical/evaluate") {
				listener = e.Internal()
				header = map[string]string{"Authorization": serviceToken(t, "core", "gateway"), "X-Is-Internal-Request": "True"}
			}
			body := "{}"
			if slices.Contains([]string{"/queue", "/schedule", "/retryTask", "/mapping"}, route.Path) {
				body = "[]"
			}
			code, response, _ := send(t, listener, request{route.Method, example(route.Path) + slash, body, header})
			if method, _, _ := b.seen(); method != route.RPC {
				t.Errorf("%s %s%s called %q (response %d %s), want %s: the contract must declare a literal path after one with a parameter "+
					"in the same position, because the last match wins", route.Method, route.Path, slash, method, code, response, route.RPC)
			}
		}
	}
}

func TestAreasThatAreNotDeployedRespond501InTheirErrorBody(t *testing.T) {
	t.Parallel()
	public := newEdge(t, nil).Public()
	for path, want := range map[string]string{
		"/api-v3/finance/bill/split/9001":      `{"status":"failed","failed_validation":[],"message":"Bill split is not deployed here. Ask the operator of this installation to enable it."}`,
		"/update_consent/":                     `{"code":501,"message":"The task queue is not deployed here. Ask the operator of this installation to enable it."}`,
		"/api-v3/report/external-edit/agent/5": `{"code":501,"message":"External editing is not deployed here. Ask the operator of this installation to enable it.","details":""}`,
	} {
		code, body, _ := send(t, public, request{method: "POST", path: path, body: "{}"})
		if code != 501 || body != want {
			t.Errorf("%s: response = %d %s, want 501 %s", path, code, body, want)
		}
	}
}
