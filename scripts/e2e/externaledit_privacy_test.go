package e2e

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestExternalEditNothingOfADocumentLeaks sends marked values in every part of a document. The logs and metrics of the
// gateway and the service must not contain them.
func TestExternalEditNothingOfADocumentLeaks(t *testing.T) {
	t.Parallel()
	const canary = "canaryzeta7391"
	report := editReport(t)
	id, token := openSession(t, editor(t, 12, "report_edit"), report, creation)
	good := savedPair(t, canary)
	good[0].name = canary + ".docx"
	bad := savedPair(t, canary)
	bad[0].content = docx(t, canary, "word/vbaProject.bin", canary)
	wrong := savedPair(t, canary)
	wrong[1].name, wrong[1].contentType = canary+".exe", canary+"/x"
	for i, files := range [][]formFile{good, bad, wrong} {
		got := mustUpload(t, id, token, files)
		if (got.status == 200) != (i == 0) || strings.Contains(got.body, canary) {
			t.Errorf("%d %s", got.status, got.body)
		}
	}
	call(t, "", "POST", fmt.Sprintf("%s/agent/%d", editPath, id), "{}", "Authorization", "Bearer "+token+canary)
	secrets := []string{canary, strings.Split(token, ".")[2]}
	for _, service := range []string{"gateway", "externaledit"} {
		logs, err := filepath.Glob(filepath.Join(stack.Dir, "logs", service+"*"))
		if err != nil || len(logs) == 0 {
			t.Fatalf("no logs of %s: %v", service, err)
		}
		for _, path := range logs {
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			for _, secret := range secrets {
				if i := bytes.Index(text, []byte(secret)); i >= 0 {
					t.Errorf("%s: …%s…", path, text[max(0, i-200):min(len(text), i+100)])
				}
			}
		}
	}
	metrics := callAt(t, "http://127.0.0.1:"+stack.Endpoints.Environ["externaledit"]["EXTERNAL_EDIT_ADMIN_PORT"], "",
		"GET", "/metrics", "")
	for _, want := range []string{`externaledit_uploads_total{outcome="refused"}`,
		`externaledit_sessions_ended_total{reason="admin"}`, `externaledit_event_streams`} {
		if !strings.Contains(metrics.body, want) {
			t.Errorf("no %s", want)
		}
	}
	for _, secret := range secrets {
		if strings.Contains(metrics.body, secret) {
			t.Errorf("the metrics show %q", secret)
		}
	}
}
