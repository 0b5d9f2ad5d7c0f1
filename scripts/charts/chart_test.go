package charts

import (
	"flag"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"helm.sh/helm/v4/pkg/chart/common"
	"helm.sh/helm/v4/pkg/chart/common/util"
	chart "helm.sh/helm/v4/pkg/chart/v2"
	"helm.sh/helm/v4/pkg/chart/v2/loader"
	chartutil "helm.sh/helm/v4/pkg/chart/v2/util"
	"helm.sh/helm/v4/pkg/engine"
	"sigs.k8s.io/yaml"
)

var update = flag.Bool("update", false, "write the schemas and the rendered manifests")

const root = "../../charts"

// TestMain keeps Helm's messages about the symbolic links to labkit out of the output.
func TestMain(m *testing.M) {
	slog.SetDefault(slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn})))
	os.Exit(m.Run())
}

// names lists the charts of the deployables.
func names(t *testing.T) []string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(root, "*", "values.yaml"))
	if err != nil || len(found) == 0 {
		t.Fatalf("no charts in %s: %v", root, err)
	}
	var list []string
	for _, path := range found {
		if name := filepath.Base(filepath.Dir(path)); name != umbrella {
			list = append(list, name)
		}
	}
	return list
}

func load(t *testing.T, name string) *chart.Chart {
	t.Helper()
	c, err := loader.Load(filepath.Join(root, name))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// manifest is one rendered object.
type manifest struct {
	kind, name, text string
}

// render returns the manifests of a chart with values, or Helm's error.
func render(c *chart.Chart, values map[string]any) ([]manifest, error) {
	files, err := renderFiles(c, values)
	if err != nil {
		return nil, err
	}
	return split(files)
}

// renderFiles returns the rendered texts of a chart's templates, including NOTES.txt.
func renderFiles(c *chart.Chart, values map[string]any) (map[string]string, error) {
	if err := chartutil.ProcessDependencies(c, values); err != nil {
		return nil, err
	}
	release := common.ReleaseOptions{Name: c.Name(), Namespace: "lab", IsInstall: true}
	all, err := util.ToRenderValues(c, values, release, common.DefaultCapabilities)
	if err != nil {
		return nil, err
	}
	return engine.Render(c, all)
}

func split(files map[string]string) ([]manifest, error) {
	var list []manifest
	for file, text := range files {
		if strings.HasSuffix(file, ".txt") {
			continue
		}
		for document := range strings.SplitSeq("\n"+text, "\n---\n") {
			if strings.TrimSpace(document) == "" {
				continue
			}
			var head struct {
				Kind     string
				Metadata struct{ Name string }
			}
			if err := yaml.Unmarshal([]byte(document), &head); err != nil {
				return nil, err
			}
			list = append(list, manifest{head.Kind, head.Metadata.Name, strings.TrimSpace(document) + "\n"})
		}
	}
	slices.SortFunc(list, func(a, b manifest) int { return strings.Compare(a.kind+"/"+a.name, b.kind+"/"+b.name) })
	return list, nil
}

func values(t *testing.T, path string) map[string]any {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	read := map[string]any{}
	if err := yaml.Unmarshal(text, &read); err != nil {
		t.Fatal(err)
	}
	return read
}

var (
	once  sync.Mutex
	cache = map[string][]manifest{}
)

// rendered returns the manifests of a chart with one of its files of values, "default" or "full". The result is cached.
func rendered(t *testing.T, name, file string) []manifest {
	t.Helper()
	once.Lock()
	defer once.Unlock()
	if list, ok := cache[name+"/"+file]; ok {
		return list
	}
	list, err := render(load(t, name), values(t, filepath.Join(root, name, "ci", file+"-values.yaml")))
	if err != nil {
		t.Fatalf("%s with %s values: %v", name, file, err)
	}
	cache[name+"/"+file] = list
	return list
}

// object decodes the manifest of a kind and name into T. Fields that T lacks are an error.
func object[T any](t *testing.T, list []manifest, kind, name string) T {
	t.Helper()
	return decoded[T](t, list, kind, name, yaml.DisallowUnknownFields)
}

// decode decodes a manifest into T, which may lack some of its fields.
func decode[T any](t *testing.T, list []manifest, kind, name string) T {
	t.Helper()
	return decoded[T](t, list, kind, name)
}

func decoded[T any](t *testing.T, list []manifest, kind, name string, options ...yaml.JSONOpt) T {
	t.Helper()
	var o T
	for _, m := range list {
		if m.kind == kind && m.name == name {
			if err := yaml.Unmarshal([]byte(m.text), &o, options...); err != nil {
				t.Fatal(err)
			}
			return o
		}
	}
	t.Fatalf("no %s %s", kind, name)
	return o
}

// golden compares text with a committed file, or with -update writes it.
func golden(t *testing.T, path, text string) {
	t.Helper()
	if *update {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil || string(want) != text {
		t.Errorf("%s is not what the charts say now (%v): run make charts-update and read the difference", path, err)
	}
}
