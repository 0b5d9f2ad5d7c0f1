package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/labplatform/labplatform/pkg/testkit/await"
)

func TestBadInputIsAnsweredInTheAreasShapeAndStoresNothing(t *testing.T) {
	t.Parallel()
	const id = "97010"
	newReport(t, 97010)
	rerun := "/api-v3/sample-rerun/" + id
	big := `{"device_data":[{"index":1,"value":"` + strings.Repeat("9", 1<<20) + `"}]}`
	cases := []struct {
		name, session, method, path, body string
		status                            int
		want                              string
	}{
		{"malformed", labSession, "POST", rerun + "/auto", `{"device_data":`, 400, `"code":400`},
		{"wrong type", labSession, "POST", rerun + "/auto", `{"device_data":{"index":1}}`, 400, `device_data`},
		{"unknown field", labSession, "POST", rerun + "/request", `{"type":"Manual","requested_parameters":"[1]","colour":"red"}`, 400, `Invalid fields: colour`},
		{"unknown parameter", labSession, "POST", rerun + "/request", `{"type":"Manual","requested_parameters":"[999]"}`, 400, `"code":400`},
		{"requested parameters not a list", labSession, "POST", rerun + "/request", `{"type":"Manual","requested_parameters":"many"}`, 400, `"code":400`},
		{"laboratory that contradicts", labSession, "POST", rerun + "/request", `{"type":"Manual","requested_parameters":"[1]","lab_id":13}`, 404, `"code":404`},
		{"one byte too much", labSession, "POST", rerun + "/auto", big, 413, `"code":413`},
		{"no credential", "", "GET", rerun, "", 401, `"code":401`},
		{"unknown session", "stranger", "GET", rerun, "", 401, `"code":401`},
		{"unknown path", labSession, "GET", "/api-v3/nothing", "", 404, `"code":404`},
		{"wrong method", labSession, "DELETE", rerun, "", 405, `"code":405`},
		{"unknown task", labSession, "POST", "/queue/", `[{"task":4,"task_type":2,"data":{"url":"http://192.0.2.1/"}},{"task":5,"task_type":1,"data":{}}]`, 400, `"index":1`},
		{"empty batch", labSession, "POST", "/queue/", `[]`, 400, `"code":400`},
		{"queue without credential", "", "POST", "/queue/", `[]`, 401, `"code":401`},
		{"a user names an internal origin", labSession, "POST", "/queue/", `[{"task":4,"task_type":2,"data":{"url":"INTERNAL/api-v3/sample-rerun/97010/request"}}]`, 400, `"code":400`},
		{"area that is not deployed", labSession, "POST", "/api/v1/users/search", `{"query":"rahul"}`, 501, `"code":501`},
	}
	for _, c := range cases {
		got := call(t, c.session, c.method, c.path, strings.ReplaceAll(c.body, "INTERNAL", stack.Endpoints.GatewayInternal))
		if got.status != c.status || !strings.Contains(got.body, c.want) {
			t.Errorf("%s: %d %.300s", c.name, got.status, got.body)
		}
		for _, leak := range []string{"goroutine", "strconv", "rpc error", "sql:", "Error 1"} {
			if strings.Contains(got.body, leak) {
				t.Errorf("%s: Go text in %s", c.name, got.body)
			}
		}
	}
	if list := call(t, labSession, "GET", rerun, ""); list.json(t)["sampleRedrawFlag"] != 0.0 {
		t.Errorf("bad input changed the report: %s", list.body)
	}
}

func TestInternalHeadersFromOutsideChangeNothing(t *testing.T) {
	t.Parallel()
	newReport(t, 97011)
	const path = "/api-v3/sample-rerun/97011/request"
	const body = `{"type":"auto","rerun_number":"1","requested_parameters":"[1]","is_active":true,"lab_id":12}`
	for _, header := range [][]string{
		{"x-is-internal-request", "True"},
		{"Grpc-Metadata-X-Is-Internal-Request", "True"},
		{"Grpc-Metadata-Authorization", "Bearer " + internalToken(t)},
		{"Authorization", "Bearer " + internalToken(t), "x-is-internal-request", "True"}, // this token is for the gateway
	} {
		if got := call(t, "", "POST", path, body, header...); got.status != 401 {
			t.Errorf("%v: got %d %s, want status 401", header, got.status, got.body)
		}
	}
	got := call(t, labSession, "POST", path, body, "x-is-internal-request", "True")
	if got.status != 200 {
		t.Fatalf("as a user: %d %s", got.status, got.body)
	}
	pending := call(t, labSession, "GET", strings.TrimSuffix(path, "/request"), "").json(t)["pending_requests"].([]any)
	if by := pending[0].(map[string]any)["created_by"]; by == -1.0 {
		t.Error("a user acted as the platform")
	}
}

func TestTheInternalListenerActsAsThePlatform(t *testing.T) {
	t.Parallel()
	newReport(t, 97012)
	const path = "/api-v3/sample-rerun/97012/request"
	const body = `{"type":"auto","rerun_number":"1","requested_parameters":"[1, 3]","is_active":true,"lab_id":12}`
	token := "Bearer " + internalToken(t)
	if got := callAt(t, stack.Endpoints.GatewayInternal, labSession, "POST", path, body, "X-Is-Internal-Request", "True"); got.status != 401 {
		t.Errorf("a session: %d %s", got.status, got.body)
	}
	if got := callAt(t, stack.Endpoints.GatewayInternal, "", "POST", path, body, "Authorization", token); got.status != 401 {
		t.Errorf("without the header: %d %s", got.status, got.body)
	}
	got := callAt(t, stack.Endpoints.GatewayInternal, "", "POST", path, body, "Authorization", token, "x-is-internal-request", "tRuE")
	if got.status != 200 {
		t.Fatalf("got %d %s, want status 200", got.status, got.body)
	}
	pending := call(t, labSession, "GET", strings.TrimSuffix(path, "/request"), "").json(t)["pending_requests"].([]any)
	if by := pending[0].(map[string]any)["created_by"]; by != -1.0 {
		t.Errorf("created by %v", by)
	}
}

// TestNothingAboutPatientsIsLogged sends marked values and searches all logs and metrics of the processes for them.
// None may be found.
func TestNothingAboutPatientsIsLogged(t *testing.T) {
	newReport(t, 97013)
	const canary = "ZZPHI7Q"
	call(t, labSession, "POST", "/api-v3/sample-rerun/97013/auto", `{"device_data":[{"index":1,"value":"`+canary+`"}]}`)
	call(t, labSession, "POST", "/api-v3/sample-rerun/97013/auto", `{"device_data":[{"index":"`+canary+`"}]}`)
	call(t, labSession, "POST", "/api-v3/sample-rerun/97013/request", `{"type":"Manual","requested_parameters":"[1]","parameter_names":["`+canary+`"]}`)
	call(t, canary, "GET", "/api-v3/sample-rerun/97013", "")
	call(t, labSession, "GET", "/api-v3/"+canary, "")
	sms := call(t, labSession, "POST", "/queue/", `[{"task":1,"task_type":3,"data":{"contact":9876501234,"countryCode":91,"message":"`+canary+`"},"log_tag":"e2e"}]`)
	if sms.status != 200 {
		t.Fatalf("got %d %s, want status 200", sms.status, sms.body)
	}
	job, _ := sms.json(t)["job_ids"].([]any)[0].(string)
	await.Nil(t, "the end of the message's job", func() error {
		info := call(t, labSession, "POST", "/jobInfo/", `{"id":"`+job+`"}`)
		if strings.Contains(info.body, canary) {
			t.Errorf("jobInfo shows the message: %s", info.body)
		}
		found, _ := info.json(t)["job"].(map[string]any)
		if found["status"] != "finished" {
			return fmt.Errorf("jobInfo says %s", info.body)
		}
		return nil
	})
	logs, err := filepath.Glob(filepath.Join(stack.Dir, "logs", "*.log"))
	if err != nil || len(logs) < 5 {
		t.Fatalf("%d logs, error %v", len(logs), err)
	}
	for _, path := range logs {
		if filepath.Base(path) == "devstack.log" {
			continue // prints the demo session on purpose
		}
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, secret := range []string{canary, "9876501234", "sessionid=", "demo-lab-user"} {
			if strings.Contains(string(text), secret) {
				t.Errorf("%s holds %q", filepath.Base(path), secret)
			}
		}
	}
	for _, base := range []string{stack.Endpoints.Environ["gateway"]["GATEWAY_ADMIN_PORT"], stack.Endpoints.Environ["rerun"]["RERUN_ADMIN_PORT"], stack.Endpoints.Environ["taskqueue"]["TASKQUEUE_ADMIN_PORT"]} {
		metrics := callAt(t, "http://127.0.0.1:"+base, "", "GET", "/metrics", "")
		if metrics.status != 200 {
			t.Errorf("metrics of port %s: %d", base, metrics.status)
		}
		for _, said := range []string{canary, "/97013", `"97013"`} { // the bare number may occur in a measured time
			if strings.Contains(metrics.body, said) {
				t.Errorf("metrics of port %s hold %s", base, said)
			}
		}
	}
}
