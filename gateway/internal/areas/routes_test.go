package areas_test

import (
	"bufio"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/labplatform/labplatform/gateway/internal/areas"
	"github.com/labplatform/labplatform/pkg/edge"
)

func golden(t *testing.T) []edge.Route {
	t.Helper()
	file, err := os.Open("testdata/routes.golden")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	var routes []edge.Route
	for lines := bufio.NewScanner(file); lines.Scan(); {
		fields := strings.Fields(lines.Text())
		if len(fields) != 3 || fields[0] == "#" {
			continue
		}
		routes = append(routes, edge.Route{Method: fields[0], Path: fields[1], RPC: fields[2]})
	}
	if len(routes) < 45 {
		t.Fatalf("only %d routes in the golden file", len(routes))
	}
	return routes
}

func byPath(a, b edge.Route) int { return strings.Compare(a.Path+" "+a.Method, b.Path+" "+b.Method) }

func TestContractsHaveExactlyTheDocumentedPaths(t *testing.T) {
	t.Parallel()
	want := golden(t)
	slices.SortFunc(want, byPath)
	if diff := cmp.Diff(want, edge.Routes(areas.List())); diff != "" {
		t.Fatalf("testdata/routes.golden and the contracts differ:\n%s", diff)
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

func TestEveryPathReachesItsRPCInBothSlashForms(t *testing.T) {
	t.Parallel()
	for _, route := range golden(t) {
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
			code, answer, _ := send(t, listener, request{route.Method, example(route.Path) + slash, body, header})
			if method, _, _ := b.seen(); method != route.RPC {
				t.Errorf("%s %s%s reached %q (answer %d %s), want %s", route.Method, route.Path, slash, method, code, answer, route.RPC)
			}
		}
	}
}

func TestAreasThatAreNotDeployedAnswer501InTheirOwnShape(t *testing.T) {
	t.Parallel()
	public := newEdge(t, nil).Public()
	for path, want := range map[string]string{
		"/api-v3/finance/bill/split/9001":      `{"status":"failed","failed_validation":[],"message":"Bill split is not deployed here. Ask the operator of this installation to enable it."}`,
		"/update_consent/":                     `{"code":501,"message":"The task queue is not deployed here. Ask the operator of this installation to enable it."}`,
		"/api-v3/report/external-edit/agent/5": `{"code":501,"message":"External editing is not deployed here. Ask the operator of this installation to enable it.","details":""}`,
	} {
		code, body, _ := send(t, public, request{method: "POST", path: path, body: "{}"})
		if code != 501 || body != want {
			t.Errorf("%s: %d %s", path, code, body)
		}
	}
}
