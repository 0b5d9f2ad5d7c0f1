package services_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/labplatform/labplatform/services"
)

const root = ".."

func TestTheListNamesEveryServiceOnceAndNothingTwice(t *testing.T) {
	t.Parallel()
	folders, err := filepath.Glob("*/go.mod")
	if err != nil {
		t.Fatal(err)
	}
	list, taken := services.List(), map[any]string{}
	if len(folders)+1 != len(list) {
		t.Errorf("%d folders, and %d services in services.yaml beside the gateway", len(folders), len(list)-1)
	}
	for _, s := range list {
		if info, err := os.Stat(filepath.Join(root, s.Package())); err != nil || !info.IsDir() {
			t.Errorf("%s: no folder %s", s.Name, s.Package())
		}
		unique := []any{s.Prefix, s.Admin}
		if s.Name != services.Gateway {
			unique = append(unique, s.GRPC, fmt.Sprint("slot ", s.Slot))
		}
		for _, value := range unique {
			if other, ok := taken[value]; ok {
				t.Errorf("%s and %s both have %v", s.Name, other, value)
			}
			taken[value] = s.Name
		}
		for _, callee := range s.Callees {
			if !slices.ContainsFunc(list, func(other services.Service) bool { return other.Name == callee }) {
				t.Errorf("%s calls %s, which is not in the list", s.Name, callee)
			}
		}
	}
}

func TestTheReadmesTableHasEveryService(t *testing.T) {
	t.Parallel()
	readme, err := os.ReadFile(filepath.Join(root, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range services.List() {
		begin, end := fmt.Sprintf("| [%s](%[1]s/README.md) | %s %s |", s.Folder(), s.Area, s.Title), fmt.Sprintf("| %d, %d |", s.GRPC, s.Admin)
		if s.Name == services.Gateway {
			begin, end = fmt.Sprintf("| [gateway](gateway/README.md) | %s |", s.Title), fmt.Sprintf("| –, %d |", s.Admin)
		}
		found := slices.ContainsFunc(strings.Split(string(readme), "\n"), func(line string) bool {
			return strings.HasPrefix(line, begin) && strings.HasSuffix(line, end)
		})
		if !found {
			t.Errorf("README.md has no line %s … %s", begin, end)
		}
	}
}
