package apidoc

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/labplatform/labplatform/proto/openapi"
	"github.com/labplatform/labplatform/scripts/devstack/endpoints"
	"github.com/labplatform/labplatform/scripts/devstack/sandbox"
)

// described is the part of the API document that the tests read.
type described struct {
	Paths map[string]map[string]describedOperation `json:"paths"`
}

type describedOperation struct {
	ID          string                `json:"operationId"`
	Deprecated  bool                  `json:"deprecated"`
	Security    []map[string][]string `json:"security"`
	RequestBody struct {
		Content map[string]struct {
			Example json.RawMessage `json:"example"`
		} `json:"content"`
	} `json:"requestBody"`
}

func (o describedOperation) isInternal() bool {
	return len(o.Security) == 1 && o.Security[0]["service"] != nil
}

func readDocument(t *testing.T) described {
	t.Helper()
	var d described
	if err := json.Unmarshal(openapi.Document, &d); err != nil {
		t.Fatal(err)
	}
	return d
}

// demoIDs maps path parameters, by name or by operation and name, to ids of the demo laboratory that fit the examples.
var demoIDs = map[string]string{
	"bill_id": "9005", "lab_report_id": "7001", "report_id": "7001", "test_id": "55", "id": "7019", "gateway": "fcm", "notification_type_id": "2",
	"RerunService_EvaluateAutoRerun lab_report_id": "7003", // opens a rerun, with a delay
	"CalloutService_ClaimCallout lab_report_id":    "7009", "BillSplitService_SplitBill bill_id": "9011",
}

var inBraces = regexp.MustCompile(`\{(\w+)\}`)

// TestTheExampleOfEveryBodyIsAccepted sends each example of a JSON body, in the order of the paths, with requests of
// reruns before their confirmation. It has a platform of its own, so that the commands of the READMEs find an unchanged
// demo laboratory.
func TestTheExampleOfEveryBodyIsAccepted(t *testing.T) {
	demo := demoPlatform(t)
	operations := map[string]describedOperation{}
	for path, methods := range readDocument(t).Paths {
		for method, operation := range methods {
			if operation.RequestBody.Content["application/json"].Example != nil && !operation.Deprecated {
				operations[strings.ToUpper(method)+" "+path] = operation
			}
			for kind, media := range operation.RequestBody.Content {
				if media.Example == nil && kind != "multipart/form-data" { // examples contain no files
					t.Errorf("%s %s: the body as %s has no example", method, path, kind)
				}
			}
		}
	}
	byTurn := func(a, b string) int {
		turn := func(line string) string {
			method, path, _ := strings.Cut(line, " ")
			return strings.Replace(path, "{lab_report_id}/confirm", "~", 1) + method
		}
		return strings.Compare(turn(a), turn(b))
	}
	for _, line := range slices.SortedFunc(maps.Keys(operations), byTurn) {
		operation := operations[line]
		method, path, _ := strings.Cut(line, " ")
		to := demo
		if strings.HasPrefix(path, "/api/v1/") {
			if to = platform.Endpoints; to.Search == "" {
				continue // the platform runs without search
			}
		}
		path = inBraces.ReplaceAllStringFunc(path, func(name string) string {
			name = strings.Trim(name, "{}")
			if id, ok := demoIDs[operation.ID+" "+name]; ok {
				return id
			}
			return demoIDs[name]
		})
		if operation.ID == "BillSplitService_MergeBill" {
			path = "/api-v3/finance/bill/split/" + splitBill(t, demo) + "/merge"
		}
		body := soon(operation.RequestBody.Content["application/json"].Example)
		if status, answer := exchange(t, to, operation.isInternal(), method, path, body); status != http.StatusOK {
			t.Errorf("%s %s with the example of %s: %d %s", method, path, operation.ID, status, answer)
		}
	}
	if len(operations) < 30 {
		t.Errorf("%d operations with an example, want at least 30", len(operations))
	}
}

// demoPlatform starts a platform with the demo laboratory, without change capture and search.
func demoPlatform(t *testing.T) endpoints.Endpoints {
	t.Helper()
	own, err := sandbox.Build(t.Context(), "LAB_SEED=demo", "LAB_PIPELINE=off")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(own.Remove)
	if _, err := own.Up(t.Context()); err != nil {
		t.Fatal(err)
	}
	return own.Endpoints
}

var exampleTime = regexp.MustCompile(`"(sch_time|resc_at)": ?"[^"]*"`)

// soon sets the times of an example to a week from now, because those in the document pass.
func soon(example []byte) []byte {
	return exampleTime.ReplaceAll(example, fmt.Appendf(nil, `"$1":%q`, time.Now().UTC().AddDate(0, 0, 7).Format("2006-01-02T15:04:05")))
}

// splitBill splits the demo laboratory's insured bill and returns the new bill's id.
func splitBill(t *testing.T, to endpoints.Endpoints) string {
	t.Helper()
	status, answer := exchange(t, to, false, http.MethodPost, "/api-v3/finance/bill/split/9011", []byte(`{"test_ids":[8036],"new_source":"Self Pay"}`))
	var split struct {
		Data struct {
			NewBill struct{ ID json.Number } `json:"new_bill"`
		}
	}
	if err := json.Unmarshal(answer, &split); err != nil || status != http.StatusOK {
		t.Fatalf("split: %d %s, %v", status, answer, err)
	}
	return split.Data.NewBill.ID.String()
}

// exchange sends a request as the laboratory's administrator, or, if internal is true, as a service to the internal
// listener.
func exchange(t *testing.T, to endpoints.Endpoints, internal bool, method, path string, body []byte) (status int, answer []byte) {
	t.Helper()
	base, header := to.Gateway, http.Header{"Content-Type": {"application/json"}}
	if internal {
		token, err := exec.CommandContext(t.Context(), to.InternalTokenCommand[0], to.InternalTokenCommand[1:]...).Output()
		if err != nil {
			t.Fatal(err)
		}
		base = to.GatewayInternal
		header.Set("Authorization", "Bearer "+strings.TrimSpace(string(token)))
		header.Set("X-Is-Internal-Request", "True")
	} else {
		header.Set("Cookie", "sessionid=demo-admin")
	}
	request, err := http.NewRequestWithContext(context.WithoutCancel(t.Context()), method, base+path, bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	request.Header = header
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	answer, err = io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, answer
}
