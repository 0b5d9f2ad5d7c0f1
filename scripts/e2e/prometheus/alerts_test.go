package prometheus_test

import (
	"fmt"
	"path/filepath"
	"testing"

	"github.com/labplatform/labplatform/pkg/testkit/engine"
	"github.com/labplatform/labplatform/scripts/e2e/prometheus"
)

// TestAlertsTellWhatTheyAreFor has promtool check the charts' rules and play the stories of alerts_test.yaml and
// stories_test.yaml with them: outages, lost pods, patients, wrong requests.
func TestAlertsTellWhatTheyAreFor(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	if err := prometheus.Fetch(t.Context(), folder); err != nil {
		engine.Missing(t, fmt.Sprintf("a machine with Debian's apt is needed: %v", err))
	}
	rules, err := filepath.Glob("../../../charts/*/files/alerts.yaml")
	if err != nil || len(rules) < 7 {
		t.Fatalf("files of alerts = %d, %v, want at least 7", len(rules), err)
	}
	said, err := prometheus.Check(t.Context(), folder, rules, "alerts_test.yaml", "stories_test.yaml")
	if err != nil {
		t.Errorf("got %v\n%s", err, said)
	}
}
