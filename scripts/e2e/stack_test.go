package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/labplatform/labplatform/pkg/testkit/certificates"
	"github.com/labplatform/labplatform/scripts/devstack/sandbox"
	"github.com/labplatform/labplatform/scripts/devstack/seed"
	"github.com/labplatform/labplatform/scripts/devstack/tracing"
	"github.com/labplatform/labplatform/scripts/e2e/conformance"
)

const (
	stackTimeout = 10 * time.Minute // including a first build
	labSession   = "demo-lab-user"
	otherSession = "demo-second-lab-user"
)

// stack is the running stack of this test binary. Tests use reports of their own, so they run in parallel; tests that
// kill a process do not.
var stack struct {
	*sandbox.Sandbox
	seed         seed.Target
	certificates string // folder of the services' certificates
}

// authority signs the services' first certificates.
var authority *certificates.Authority

func TestMain(m *testing.M) {
	os.Exit(run(m))
}

// run runs the tests on a stack without change capture and search, which package capture tests.
func run(m *testing.M) int {
	ctx, cancel := context.WithTimeout(context.Background(), stackTimeout)
	defer cancel()
	environment, err := encrypt()
	if err != nil {
		fmt.Fprintln(os.Stderr, "e2e:", err)
		return 1
	}
	defer os.RemoveAll(stack.certificates)
	if traces, err = tracing.Listen(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "e2e:", err)
		return 1
	}
	defer traces.Close()
	environment = append(environment, traceEnvironment()...)
	environment = append(environment, "LAB_PIPELINE=off", "TASKQUEUE_ADMIN_TOKEN="+queueAdminToken, "TASKQUEUE_WEBHOOK_SECRET=whsec_ZTJlLXdlYmhvb2stc2VjcmV0LW9mLTMyLWJ5dGVzISE=")
	stack.Sandbox, err = sandbox.Build(ctx, environment...)
	if err != nil {
		fmt.Fprintln(os.Stderr, "e2e:", err)
		return 1
	}
	defer stack.Remove()
	if recorder, err = conformance.Wrap(&http.Transport{MaxIdleConnsPerHost: 16}); err != nil {
		fmt.Fprintln(os.Stderr, "e2e:", err)
		return 1
	}
	client.Transport = recorder
	if _, err := stack.Up(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "e2e: start the stack:", err)
		return 1
	}
	if stack.seed, err = seed.Stack(stack.Dir); err != nil {
		fmt.Fprintln(os.Stderr, "e2e:", err)
		return 1
	}
	if err := countFromFarAbove(ctx, stack.Endpoints.MySQLDSN); err != nil {
		fmt.Fprintln(os.Stderr, "e2e:", err)
		return 1
	}
	if err := haveOwnUsers(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "e2e:", err)
		return 1
	}
	result := max(m.Run(), recorder.Report(os.Stdout))
	for _, line := range deniedAccess() {
		fmt.Println("docs/database-users.sql lacks a right:", line)
		result = max(result, 1)
	}
	return result
}

// encrypt creates the certificates of the services and returns the settings that name them.
func encrypt() (environment []string, err error) {
	if authority, err = certificates.New("e2e"); err != nil {
		return nil, err
	}
	authority.Names = []string{"*.test", "gateway", "callout", "notifications", "rerun", "taskqueue"} // host names
	if stack.certificates, err = os.MkdirTemp("", "labtls"); err != nil {
		return nil, err
	}
	files, err := authority.Issue(stack.certificates, time.Now().AddDate(1, 0, 0), authority)
	return tlsEnvironment(files), err
}

// answer is a REST response.
type answer struct {
	status int
	header http.Header
	body   string
}

// json decodes the body as a JSON object. Other bodies fail the test.
func (a answer) json(t *testing.T) map[string]any {
	t.Helper()
	var v map[string]any
	if err := json.Unmarshal([]byte(a.body), &v); err != nil {
		t.Fatalf("not JSON: %s", a.body)
	}
	return v
}

// sorted returns the body with sorted keys and without spaces, because MySQL stores JSON in another order.
func (a answer) sorted(t *testing.T) string {
	t.Helper()
	text, err := json.Marshal(a.json(t))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

var client = &http.Client{Timeout: 20 * time.Second}

// recorder compares all requests and responses of the client with the API document.
var recorder *conformance.Recorder

// call sends a request to the public listener. session, if not empty, is sent as the session cookie.
func call(t *testing.T, session, method, path, body string, header ...string) answer {
	t.Helper()
	return callAt(t, stack.Endpoints.Gateway, session, method, path, body, header...)
}

func callAt(t *testing.T, base, session, method, path, body string, header ...string) answer {
	t.Helper()
	got, err := send(t.Context(), base, session, method, path, body, header...)
	if err != nil {
		t.Fatalf("%s %s: got error %v, want none", method, path, err)
	}
	return got
}

// send is like callAt, but returns errors, for use in goroutines, which may not end a test.
func send(ctx context.Context, base, session, method, path, body string, header ...string) (answer, error) {
	request, err := http.NewRequestWithContext(ctx, method, base+path, strings.NewReader(body))
	if err != nil {
		return answer{}, err
	}
	request.Header.Set("Content-Type", "application/json")
	if session != "" {
		request.Header.Set("Cookie", "sessionid="+session)
	}
	for i := 0; i+1 < len(header); i += 2 {
		request.Header.Set(header[i], header[i+1])
	}
	response, err := client.Do(request)
	if err != nil {
		return answer{}, err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	return answer{response.StatusCode, response.Header, string(text)}, err
}

// newReport seeds a blood count for one test: a patient of laboratory 12, sample collected, sampleRedrawFlag 0.
func newReport(t *testing.T, id int) {
	t.Helper()
	applyFixture(t, fmt.Sprintf(`{"mysql":{"labReportRelation":[{"id":%d,"labId_id":12,"billId_id":9001,"billingInfoId_id":8001,
		"userDetailsId_id":501,"reportID_id":55,"sampleId":"E2E-%d","sampleCollected":1,"sampleCollectionTime":"2026-11-19T04:07:30Z"}]}}`, id, id))
}

// internalToken runs the command of endpoints.json that prints a token for the internal listener.
func internalToken(t *testing.T) string {
	t.Helper()
	token, err := stack.InternalToken(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return token
}

var idBlocks atomic.Int64

// newIDs returns the first of a hundred ids that no other test uses.
func newIDs() int { return 2_000_000 + 100*int(idBlocks.Add(1)) }
