package charts

import (
	"os"
	"strings"
	"testing"
)

// TestEveryChartNamesItsVersionAndLicense checks the fields that chart registries show, for all charts including the
// library and the chart of the engines.
func TestEveryChartNamesItsVersionAndLicense(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../VERSION")
	if err != nil {
		t.Fatal(err)
	}
	version := strings.TrimSpace(string(text))
	for _, name := range append(names(t), umbrella, "labkit", engines) {
		m := load(t, name).Metadata
		if m.Version != version || m.Type != "library" && m.AppVersion != version {
			t.Errorf("%s: version %q, appVersion %q, want %q as in the file VERSION", name, m.Version, m.AppVersion, version)
		}
		for _, d := range m.Dependencies {
			if d.Version != version {
				t.Errorf("%s: the dependency %s has version %q, want %q", name, d.Name, d.Version, version)
			}
		}
		if m.Annotations["artifacthub.io/license"] != "Apache-2.0" || len(m.Maintainers) == 0 || len(m.Sources) == 0 {
			t.Errorf("%s: want the licence Apache-2.0, maintainers and sources, got %v, %v, %v", name, m.Annotations, m.Maintainers, m.Sources)
		}
	}
}
