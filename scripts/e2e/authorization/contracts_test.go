package authorization

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/labplatform/labplatform/pkg/grpcserver"
	_ "github.com/labplatform/labplatform/proto/gen/lab/billsplit/v1"
	_ "github.com/labplatform/labplatform/proto/gen/lab/callout/v1"
	_ "github.com/labplatform/labplatform/proto/gen/lab/cdc/v1"
	_ "github.com/labplatform/labplatform/proto/gen/lab/cellcounter/v1"
	_ "github.com/labplatform/labplatform/proto/gen/lab/externaledit/v1"
	_ "github.com/labplatform/labplatform/proto/gen/lab/notifications/v1"
	_ "github.com/labplatform/labplatform/proto/gen/lab/rerun/v1"
	_ "github.com/labplatform/labplatform/proto/gen/lab/search/v1"
	_ "github.com/labplatform/labplatform/proto/gen/lab/taskqueue/v1"
	"github.com/labplatform/labplatform/proto/openapi"
)

// methods returns the methods of all contracts, such as lab.search.v1.SearchService/SearchUsers.
func methods() (names []string) {
	for name := range grpcserver.Callers() {
		names = append(names, strings.TrimPrefix(name, "/"))
	}
	return names
}

// operationsOf returns the operations of the API document, such as GET /api-v3/…, by the method that they call.
func operationsOf(t *testing.T) map[string][]string {
	t.Helper()
	var document struct {
		Paths map[string]map[string]struct {
			ID string `json:"operationId"`
		} `json:"paths"`
	}
	if err := json.Unmarshal(openapi.Document, &document); err != nil {
		t.Fatal(err)
	}
	byID := map[string]string{}
	for _, method := range methods() {
		service, name, _ := strings.Cut(method, "/")
		byID[service[strings.LastIndex(service, ".")+1:]+"_"+name] = method
	}
	found := map[string][]string{}
	for path, item := range document.Paths {
		for verb, operation := range item {
			method, ok := byID[strings.TrimRight(operation.ID, "0123456789")] // ids of further paths end with a number
			if !ok {
				t.Errorf("%s %s calls %q, which no contract has", verb, path, operation.ID)
			}
			found[method] = append(found[method], strings.ToUpper(verb)+" "+path)
		}
	}
	return found
}

// TestEveryOperationHasItsLine checks that the table of people and the API document have the same operations.
func TestEveryOperationHasItsLine(t *testing.T) {
	t.Parallel()
	rows, _, err := peopleTable()
	if err != nil {
		t.Fatal(err)
	}
	var written, documented []string
	for _, row := range rows {
		method, path, _ := strings.Cut(row.name, " ")
		path, variant, _ := strings.Cut(path, "#")
		rest, both := strings.CutPrefix(path, "(/api-v3)")
		if variant != "" {
			continue
		}
		written = append(written, method+" "+rest)
		if both {
			written = append(written, method+" /api-v3"+rest)
		}
	}
	for _, operations := range operationsOf(t) {
		documented = append(documented, operations...)
	}
	compare(t, "people.txt", written, documented)
	for name := range requests {
		if !slices.ContainsFunc(rows, func(r line) bool { return r.name == name }) {
			t.Errorf("a request for %s, which people.txt does not have", name)
		}
	}
}

// TestEveryMethodHasItsLine checks that the table of services and the contracts have the same methods.
func TestEveryMethodHasItsLine(t *testing.T) {
	t.Parallel()
	rows, _, err := servicesTable()
	if err != nil {
		t.Fatal(err)
	}
	var written []string
	for _, row := range rows {
		written = append(written, row.name)
	}
	compare(t, "services.txt", written, methods())
}

// compare fails for each name that only one of the two lists has.
func compare(t *testing.T, table string, written, known []string) {
	t.Helper()
	for _, name := range written {
		if !slices.Contains(known, name) {
			t.Errorf("%s has a line for %s, which does not exist", table, name)
		}
	}
	for _, name := range known {
		if !slices.Contains(written, name) {
			t.Errorf("%s has no line for %s: write down who may do it", table, name)
		}
	}
}
