package prometheus_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/labplatform/labplatform/pkg/testkit/engine"
	"github.com/labplatform/labplatform/scripts/e2e/prometheus"
)

// TestAlertsTellWhatTheyAreFor checks the charts' rules with promtool, and runs the scenarios of alerts_test.yaml and
// stories_test.yaml: outages, lost pods, waiting patients, failed requests.
func TestAlertsTellWhatTheyAreFor(t *testing.T) {
	t.Parallel()
	folder := fetched(t)
	rules, err := filepath.Glob("../../../charts/*/files/alerts.yaml")
	if err != nil || len(rules) < 7 {
		t.Fatalf("files of alerts = %d, %v, want at least 7", len(rules), err)
	}
	said, err := prometheus.Check(t.Context(), folder, rules, "alerts_test.yaml", "stories_test.yaml")
	if err != nil {
		t.Errorf("got %v\n%s", err, said)
	}
}

// TestAlertsTellTheSameOfASelectorWithFurtherLabels runs the scenarios of stories_test.yaml with rules rendered for
// prometheusRule.selector, when all series have its labels. The results must be the same.
func TestAlertsTellTheSameOfASelectorWithFurtherLabels(t *testing.T) {
	t.Parallel()
	folder := fetched(t)
	rendered, err := filepath.Glob("../../../charts/*/ci/full-rendered.yaml")
	if err != nil || len(rendered) < 7 {
		t.Fatalf("rendered charts = %d, %v, want at least 7", len(rendered), err)
	}
	var rules []string
	for _, path := range rendered {
		name := filepath.Base(filepath.Dir(filepath.Dir(path)))
		file := filepath.Join(folder, name+".yaml")
		rules = append(rules, file)
		write(t, file, groups(t, read(t, path), name))
	}
	stories := regexp.MustCompile(`\.\./\.\./\.\./charts/(\w+)/files/alerts\.yaml`).ReplaceAllString(read(t, "stories_test.yaml"), "$1.yaml")
	stories = strings.NewReplacer(`namespace="lab"`, `namespace="lab",cluster="a"`, "exp_labels: {namespace: lab", "exp_labels: {cluster: a, namespace: lab",
		"labkit.yaml", "rerun.yaml", "docs/runbooks/", "https://runbooks.example.org/").Replace(stories)
	write(t, filepath.Join(folder, "stories.yaml"), stories)
	said, err := prometheus.Check(t.Context(), folder, rules, filepath.Join(folder, "stories.yaml"))
	if err != nil {
		t.Errorf("%v\n%s", err, said)
	}
}

func fetched(t *testing.T) string {
	t.Helper()
	folder := t.TempDir()
	if err := prometheus.Fetch(t.Context(), folder); err != nil {
		engine.Missing(t, fmt.Sprintf("a machine with Debian's apt is needed: %v", err))
	}
	return folder
}

const group = "    -\n"

// groups returns the rules of a rendered chart's PrometheusRule. Rules that all charts have are kept for rerun only,
// because the scenarios are those of one process.
func groups(t *testing.T, rendered, name string) string {
	t.Helper()
	for manifest := range strings.SplitSeq(rendered, "\n---\n") {
		_, rules, found := strings.Cut(manifest, "\nspec:\n  groups:\n")
		if !found || !strings.Contains(manifest, "\nkind: PrometheusRule\n") {
			continue
		}
		if _, own, more := strings.Cut(strings.TrimPrefix(rules, group), group); more && name != "rerun" {
			return "groups:\n" + group + own
		}
		return "groups:\n" + rules
	}
	t.Fatal("the rendered chart has no PrometheusRule")
	return ""
}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}
