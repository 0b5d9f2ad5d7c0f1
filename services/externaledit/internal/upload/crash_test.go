package upload_test

import (
	"testing"

	"github.com/labplatform/labplatform/services/externaledit/internal/store/storetest"
)

// TestCrashBeforeEveryStep aborts the process before each step of a save that follows another save. The linked files
// must always belong to one save, an acknowledged save must be linked, and the sweeper must find every file that
// belongs to no save.
func TestCrashBeforeEveryStep(t *testing.T) {
	t.Parallel()
	for step := 1; ; step++ {
		b := newFixture(t)
		if _, err := b.save(b.useCase(b.reports(), b.files), saying(t, "previous")); err != nil {
			t.Fatal(err)
		}
		p := &storetest.Process{DieBefore: step}
		_, err := b.save(b.useCase(storetest.CrashingReports{Reports: b.reports(), P: p},
			storetest.CrashingFiles{Files: b.files, P: p}), saying(t, "new"))
		_, said := b.linked()
		if said != "previous" && said != "new" || err == nil && said != "new" {
			t.Errorf("step %d: %q is linked, the answer was %v", step, said, err)
		}
		left := len(b.files.Keys())
		b.sweep()
		if _, after := b.linked(); after != said {
			t.Errorf("step %d: the sweeper changed %q to %q", step, said, after)
		}
		b.wantNothingLeft(p.Died())
		t.Logf("%2d dies before %-30s: %q is linked, %d objects, after the sweeper %d", step, p.Died(), said, left,
			len(b.files.Keys()))
		if p.Died() == "" {
			return
		}
	}
}
