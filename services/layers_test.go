package services_test

import (
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// impure are the folders whose imports break the linter's rule domain-is-pure. The list only shrinks: move what a folder
// imports to an adapter, then delete its line here and in .golangci.yml.
var impure = []string{
	"cdc/internal/connect",
	"cdc/internal/enginetest",
	"cdc/internal/health",
	"search/internal/health",
	"taskqueue/internal/channel/email",
	"taskqueue/internal/channel/provider",
	"taskqueue/internal/channel/push",
	"taskqueue/internal/channel/sms",
	"taskqueue/internal/channel/webhook",
	"taskqueue/internal/engine",
	"taskqueue/internal/mailbox",
	"taskqueue/internal/operate",
}

// layerRule is one rule of depguard.
type layerRule struct {
	Files []string
	Deny  []struct{ Pkg string }
}

// denies reports whether the rule denies one of the imports of a file.
func (r layerRule) denies(t *testing.T, file string) bool {
	t.Helper()
	parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ImportsOnly)
	if err != nil {
		t.Fatal(err)
	}
	for _, i := range parsed.Imports {
		path, _ := strconv.Unquote(i.Path.Value)
		for _, d := range r.Deny {
			if strings.HasPrefix(path, d.Pkg) {
				return true
			}
		}
	}
	return false
}

// needed reports whether a file of the product in folder breaks the rule.
func (r layerRule) needed(t *testing.T, folder string) bool {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(folder, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	return slices.ContainsFunc(files, func(f string) bool { return !strings.HasSuffix(f, "_test.go") && r.denies(t, f) })
}

func TestTheExceptionsOfTheLayersOnlyShrink(t *testing.T) {
	t.Parallel()
	var linter struct {
		Linters struct {
			Settings struct {
				Depguard struct{ Rules map[string]layerRule }
			}
		}
	}
	if err := yaml.Unmarshal([]byte(read(t, ".golangci.yml")), &linter); err != nil {
		t.Fatal(err)
	}
	rule := linter.Linters.Settings.Depguard.Rules["domain-is-pure"]
	layers := []string{"app", "grpcapi", "store", "delivery"}
	want := []string{"**/services/*/internal/**", "!$test"}
	for _, l := range layers {
		want = append(want, "!**/internal/"+l+"/**")
	}
	for _, folder := range impure {
		want = append(want, "!**/services/"+folder+"/*.go")
		if !rule.needed(t, folder) {
			t.Errorf("%s needs no exception from domain-is-pure: delete it here and in .golangci.yml", folder)
		}
	}
	for _, pattern := range rule.Files {
		if !slices.Contains(want, pattern) {
			t.Errorf(".golangci.yml: domain-is-pure has the pattern %s, want only layers and the folders in impure", pattern)
		}
	}
	for _, pattern := range want {
		if !slices.Contains(rule.Files, pattern) {
			t.Errorf(".golangci.yml: domain-is-pure lacks the pattern %s", pattern)
		}
	}
}
