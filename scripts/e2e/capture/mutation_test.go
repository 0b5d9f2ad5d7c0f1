package capture

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// These tests prove that the comparison finds errors. Each mutant removes one safeguard from the consumer. The same
// workload and faults must then lead to permanent differences.

const consumerModule = "../../../services/cdc"

// mutant builds the consumer with old replaced by mutation in one file. The file itself stays unchanged.
func mutant(t *testing.T, file, old, mutation string) string {
	t.Helper()
	path, err := filepath.Abs(filepath.Join(consumerModule, file))
	if err != nil {
		t.Fatal(err)
	}
	source, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if strings.Count(string(source), old) != 1 {
		t.Fatalf("%s has %d places like %q, not one: adapt the mutation", file, strings.Count(string(source), old), old)
	}
	dir := t.TempDir()
	changed := filepath.Join(dir, filepath.Base(file))
	if err := os.WriteFile(changed, []byte(strings.Replace(string(source), old, mutation, 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	overlay, err := json.Marshal(map[string]any{"Replace": map[string]string{path: changed}})
	if err != nil {
		t.Fatal(err)
	}
	overlayFile, binary := filepath.Join(dir, "overlay.json"), filepath.Join(dir, "cdc")
	if err := os.WriteFile(overlayFile, overlay, 0o600); err != nil {
		t.Fatal(err)
	}
	build := exec.CommandContext(t.Context(), "go", "build", "-overlay", overlayFile, "-o", binary, "./cmd/cdc")
	build.Dir = consumerModule
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build the mutant: %v\n%s", err, out)
	}
	return binary
}

// mustDiffer waits until the mutant has processed everything, and fails if its index is nevertheless correct.
func (f *field) mustDiffer(t *testing.T) {
	t.Helper()
	f.account(t)
	rest(2 * time.Second) // for records that the last rows of user_meta still cause
	f.account(t)
	f.index.faulty.Store(false)
	found, err := differences(t.Context(), database(t))
	if err != nil {
		t.Fatal(err)
	}
	if len(found) == 0 {
		t.Fatal("the oracle finds no difference: it would not notice if the safeguard were lost")
	}
	t.Logf("%d differences, first: %s", len(found), found[0])
}

func TestWithoutTheLowBitTheOracleFails(t *testing.T) {
	program := mutant(t, "internal/document/operation.go", "return 2*rev + 1", "return 2 * rev")
	f := newField(t, program, seed)
	f.index.faulty.Store(true)
	work := &workload{db: database(t), seed: seed, flips: true}
	work.run(t, func(done int64) bool { return done < 4000 })
	f.mustDiffer(t)
}

func TestWithTheSourcesTimeAsVersionTheOracleFails(t *testing.T) {
	if !long() {
		t.Skip("a long form: make test-long runs it (LAB_LONG_TESTS=1)")
	}
	program := mutant(t, "internal/store/mysql/recompute.go", "projection.NextRev(before.Rev, now, t.IndexVersion)", "t.SourceTime*1000 + int64(len(projection.Row{}.FullName))")
	f := newField(t, program, seed)
	work := &workload{db: database(t), seed: seed}
	work.run(t, func(done int64) bool { return done < 8000 })
	f.mustDiffer(t)
}

func TestWithMarksBeforeTheWorkIsDoneTheOracleFails(t *testing.T) {
	if !long() {
		t.Skip("a long form: make test-long runs it (LAB_LONG_TESTS=1)")
	}
	program := mutant(t, "internal/consume/process.go", "	results, attempts, ok := w.apply(ctx, batch)",
		"	w.claim.Mark(batch[len(batch)-1].Offset + 1)\n	results, attempts, ok := w.apply(ctx, batch)")
	f := newField(t, program, seed)
	f.index.down.Store(true)
	work := &workload{db: database(t), seed: seed}
	work.run(t, func(done int64) bool { return done < 500 })
	rest(5 * time.Second) // offsets are committed every second
	for _, c := range f.consumers {
		if err := platform.Kill(c.name); err != nil {
			t.Fatal(err)
		}
	}
	f.index.down.Store(false)
	for _, c := range f.consumers {
		c.start(t, program)
	}
	f.mustDiffer(t)
}
