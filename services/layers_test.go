package services_test

import (
	"slices"
	"testing"

	"go.yaml.in/yaml/v3"
)

// The files of the rule domain-is-pure are selected by layers only: no service's folder is an exception.
func TestTheLayersHaveNoExceptions(t *testing.T) {
	t.Parallel()
	var linter struct {
		Linters struct {
			Settings struct {
				Depguard struct {
					Rules map[string]struct{ Files []string }
				}
			}
		}
	}
	if err := yaml.Unmarshal([]byte(read(t, ".golangci.yml")), &linter); err != nil {
		t.Fatal(err)
	}
	want := []string{"**/services/*/internal/**", "!**/internal/app/**", "!**/internal/grpcapi/**", "!**/internal/store/**",
		"!**/internal/delivery/**", "!$test"}
	if got := linter.Linters.Settings.Depguard.Rules["domain-is-pure"].Files; !slices.Equal(got, want) {
		t.Errorf(".golangci.yml, files of domain-is-pure: %q, want %q", got, want)
	}
}
