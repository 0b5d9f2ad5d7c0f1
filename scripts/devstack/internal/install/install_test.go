package install

import (
	"bytes"
	"os"
	"strings"
	"testing"
)

func TestInstallingNothingSaysNothing(t *testing.T) {
	t.Parallel()
	var said bytes.Buffer
	if err := Packages(t.Context(), Wanted{}, &said); err != nil || said.Len() > 0 {
		t.Fatalf("%v, %q", err, said.String())
	}
}

func TestAMissingProgramIsNamed(t *testing.T) {
	t.Parallel()
	if _, err := LookPath("no-such-server"); err == nil || !strings.Contains(err.Error(), "no-such-server is not installed") {
		t.Fatalf("error = %v", err)
	}
}

func TestMavenIsWantedOnlyWhileSomethingHasToBeFetched(t *testing.T) {
	root := t.TempDir()
	t.Setenv("PATH", t.TempDir())
	wanted := Wanted{Elasticsearch: true, Distributions: root}
	if missing := MissingPackages(wanted); len(missing) == 0 || missing[len(missing)-1] != "maven" {
		t.Fatalf("missing %v", missing)
	}
	dir, err := wantedDistributions(wanted)[0].Path(root)
	if err == nil {
		err = os.Mkdir(dir, 0o755)
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range MissingPackages(wanted) {
		if name == "maven" {
			t.Fatal("maven is wanted for nothing")
		}
	}
}
