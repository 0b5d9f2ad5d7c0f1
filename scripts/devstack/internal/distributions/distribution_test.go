package distributions

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
)

// recipe returns a distribution of one file.
func recipe(build func(dir string) error) Distribution {
	return Distribution{Name: "engine", Version: "1.2", files: fstest.MapFS{"pom.xml": {Data: []byte("<project/>")}},
		build: func(_ context.Context, _ Tools, files fs.FS, dir string, _ io.Writer) error {
			if err := copyFile(files, "pom.xml", filepath.Join(dir, "pom.xml")); err != nil {
				return err
			}
			return build(dir)
		}}
}

func TestADistributionIsMadeOnceAndFoundAgain(t *testing.T) {
	t.Parallel()
	root, built := filepath.Join(t.TempDir(), "distributions"), 0
	d := recipe(func(string) error { built++; return nil })
	if d.Present(root) {
		t.Fatal("present before it was made")
	}
	for range 2 {
		dir, err := d.Ensure(t.Context(), root, Tools{}, io.Discard)
		if err != nil || !strings.HasPrefix(filepath.Base(dir), "engine-1.2-") {
			t.Fatalf("%s, %v", dir, err)
		}
		if _, err := os.Stat(filepath.Join(dir, "pom.xml")); err != nil {
			t.Fatal(err)
		}
	}
	if built != 1 || !d.Present(root) {
		t.Fatalf("built %d times", built)
	}
}

func TestAnotherRecipeIsAnotherFolder(t *testing.T) {
	t.Parallel()
	one, other := recipe(nil), recipe(nil)
	other.files = fstest.MapFS{"pom.xml": {Data: []byte("<project>changed</project>")}}
	first, err := one.Path("root")
	if err != nil {
		t.Fatal(err)
	}
	second, err := other.Path("root")
	if err != nil || first == second {
		t.Fatalf("%s for both, %v", first, err)
	}
}

func TestAFailureOrACrashLeavesNothingThatLooksWhole(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	fails := true
	d := recipe(func(dir string) error {
		if _, err := os.Stat(filepath.Join(dir, "half")); err == nil {
			t.Error("the work of the attempt before is still there")
		}
		if fails {
			return errors.Join(os.WriteFile(filepath.Join(dir, "half"), nil, 0o600), errors.New("no network"))
		}
		return nil
	})
	if _, err := d.Ensure(t.Context(), root, Tools{}, io.Discard); err == nil || !strings.Contains(err.Error(), "engine 1.2: no network") || d.Present(root) {
		t.Fatalf("error = %v, present %t", err, d.Present(root))
	}
	fails = false
	if _, err := d.Ensure(t.Context(), root, Tools{}, io.Discard); err != nil {
		t.Fatal(err)
	}
}

func TestTwoInstallersDoTheWorkOnce(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	var built atomic.Int64
	var said bytes.Buffer
	first := recipe(func(string) error { built.Add(1); return nil })
	unlock, err := first.lock(root, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	waiting := make(chan struct{})
	progress := writer(func(p []byte) { said.Write(p); close(waiting) })
	var group sync.WaitGroup
	group.Go(func() {
		if _, err := first.Ensure(t.Context(), root, Tools{}, progress); err != nil {
			t.Error(err)
		}
	})
	<-waiting
	dir, err := first.Path(root)
	if err == nil {
		err = os.Mkdir(dir, 0o755) // the last step of the other installer
	}
	unlock()
	group.Wait()
	if err != nil || built.Load() != 0 || !strings.Contains(said.String(), "waiting for another process") {
		t.Fatalf("%v, built %d times, said %q", err, built.Load(), said.String())
	}
}

type writer func([]byte)

func (w writer) Write(p []byte) (int, error) { w(p); return len(p), nil }

func TestMavensProgressIsCountedInBytes(t *testing.T) {
	t.Parallel()
	output := `[INFO] Scanning for projects...
[INFO] Downloading from central: https://repo/a.jar
Progress (1): 4.1 kB
[INFO] Downloaded from central: https://repo/a.jar (4.2 kB at 29 kB/s)
[INFO] Downloaded from corporate mirror: https://repo/b.jar (6.7 MB at 34 MB/s)
[INFO] Downloaded from central: https://repo/c.pom (512 B at 1 kB/s)
[ERROR] Could not resolve x
`
	var fetched atomic.Int64
	kept := follow(strings.NewReader(output), &fetched)
	if got := fetched.Load(); got != 6_704_712 {
		t.Errorf("%d bytes", got)
	}
	want := []string{"[INFO] Scanning for projects...", "Progress (1): 4.1 kB", "[ERROR] Could not resolve x"}
	if diff := cmp.Diff(want, kept); diff != "" {
		t.Error(diff)
	}
}

func TestAFetchThatFailsSaysWhatToDo(t *testing.T) {
	t.Parallel()
	maven := filepath.Join(t.TempDir(), "mvn")
	if err := os.WriteFile(maven, []byte("#!/bin/sh\necho '[ERROR] Could not transfer artifact'\nexit 1\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	var said bytes.Buffer
	err := fetch(t.Context(), Tools{Maven: maven}, "Engine 1.2", "pom.xml", t.TempDir(), &said)
	if err == nil || !strings.Contains(err.Error(), "~/.m2/settings.xml") || !strings.Contains(err.Error(), "Could not transfer artifact") {
		t.Errorf("error = %v", err)
	}
	if !strings.HasPrefix(said.String(), "fetching Engine 1.2 with Maven") {
		t.Errorf("said %q", said.String())
	}
}

func TestTheVersionOfAKitIsReadFromItsReleaseFile(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int{"JAVA_VERSION=\"17.0.15\"\n": 17, "A=b\nJAVA_VERSION=\"21\"\n": 21, "JAVA_VERSION=\"1.8.0_412\"\n": 1, "nothing": 0} {
		home := t.TempDir()
		if err := os.WriteFile(filepath.Join(home, "release"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if got := javaVersion(home); got != want {
			t.Errorf("%q is version %d, want %d", text, got, want)
		}
	}
	if got := javaVersion(t.TempDir()); got != 0 {
		t.Errorf("a folder without a release file is version %d", got)
	}
}
