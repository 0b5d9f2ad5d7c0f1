package ports_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/labplatform/labplatform/scripts/devstack/internal/ports"
)

func TestNoTwoListenersShareAPort(t *testing.T) {
	t.Parallel()
	documented, offsets := map[int]ports.Name{}, map[int]ports.Name{}
	for _, entry := range ports.Table() {
		if other, taken := documented[entry.Documented]; taken {
			t.Errorf("%s and %s have port %d", entry.Name, other, entry.Documented)
		}
		if other, taken := offsets[entry.Offset]; taken || entry.Offset < 0 || entry.Offset >= 100 {
			t.Errorf("%s has offset %d, also of %q, or out of range", entry.Name, entry.Offset, other)
		}
		documented[entry.Documented], offsets[entry.Offset] = entry.Name, entry.Name
	}
}

func TestTheBaseMovesEveryPort(t *testing.T) {
	t.Parallel()
	plan, err := ports.Parse("20000")
	if err != nil {
		t.Fatal(err)
	}
	still, err := ports.Parse("")
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range ports.Table() {
		if got := plan.Port(entry.Name); got != 20000+entry.Offset {
			t.Errorf("%s = %d", entry.Name, got)
		}
		if got := still.Port(entry.Name); got != entry.Documented {
			t.Errorf("%s = %d without a base", entry.Name, got)
		}
	}
	for _, bad := range []string{"x", "80", "70000", "-1"} {
		if _, err := ports.Parse(bad); err == nil || !strings.Contains(err.Error(), "LAB_PORT_BASE") {
			t.Errorf("base %q: %v", bad, err)
		}
	}
}

func TestTheReadmeShowsTheTable(t *testing.T) {
	t.Parallel()
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range ports.Table() {
		if row := fmt.Sprintf("| %s | %d | %d |", entry.Name, entry.Documented, entry.Offset); !strings.Contains(string(readme), row) {
			t.Errorf("README.md lacks the row %s", row)
		}
	}
}
