package apidoc

import (
	"cmp"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"time"
)

// outcomes counts the responses to requests that the document allows.
type outcomes struct {
	Accepted    int `json:"accepted"`
	Unreachable int `json:"unreachable"` // 404
	Conflicts   int `json:"conflicts"`
	Rejected    int `json:"rejected"`
}

// TestRequestsMadeFromTheDocument sends requests that the document allows and requests that it does not. Each response
// must have a documented status and body, and none may be a server error.
func TestRequestsMadeFromTheDocument(t *testing.T) {
	program, report := pythonTool(t, "schemathesis"), filepath.Join(t.TempDir(), "report.json")
	args := []string{"--config-file", "schemathesis.toml", "run", served(t), "--url", platform.Endpoints.Gateway, "--no-color",
		"--phases", "examples,coverage,fuzzing", "--report-json-path", report, "--max-examples", "15",
		"--checks", "not_a_server_error,status_code_conformance,content_type_conformance,response_schema_conformance"}
	if os.Getenv("LAB_LONG_TESTS") == "1" {
		seed := strconv.FormatInt(time.Now().UnixNano()%1_000_000_000, 10)
		t.Log("seed", seed)
		args = append(args, "--max-time", "300", "--seed", seed)
	} else {
		args = append(args, "--max-time", cmp.Or(os.Getenv("LAB_REQUESTS_SECONDS"), "35"))
	}
	cmd := exec.CommandContext(t.Context(), program, args...)
	cmd.Dir = copied(t, "schemathesis.toml", "demo_ids.py")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Errorf("got %v\n%s", err, out)
	}
	share(t, report)
}

// share prints how many of the requests that the document allows were accepted. It fails if more were refused, because
// then the document and the platform disagree. Responses 404 and 409 count as neither: the platform understood a count
// that is stored, a rerun that is running, or a split that is already undone.
func share(t *testing.T, report string) {
	t.Helper()
	text, err := os.ReadFile(report)
	if err != nil {
		t.Fatal(err)
	}
	var result struct {
		Operations struct{ Tested int }           `json:"operations"`
		TestCases  struct{ Generated int }        `json:"test_cases"`
		ValidRates map[string]map[string]outcomes `json:"valid_rates"` // outcomes by operation and phase
	}
	if err := json.Unmarshal(text, &result); err != nil {
		t.Fatal(err)
	}
	var all outcomes
	for _, phases := range result.ValidRates {
		for _, o := range phases {
			all.Accepted += o.Accepted
			all.Unreachable += o.Unreachable
			all.Conflicts += o.Conflicts
			all.Rejected += o.Rejected
		}
	}
	total := all.Accepted + all.Unreachable + all.Conflicts + all.Rejected
	t.Logf("%d requests to %d operations; of %d that follow the document %d were accepted, %d found nothing, %d were conflicts, %d were refused",
		result.TestCases.Generated, result.Operations.Tested, total, all.Accepted, all.Unreachable, all.Conflicts, all.Rejected)
	if all.Accepted < all.Rejected {
		t.Errorf("less than half of what follows the document was accepted, apart from what found nothing and conflicts")
	}
}
