package engines

import (
	"bytes"
	"strings"
	"testing"
)

func TestSocketPathsFitWhateverTheDirectory(t *testing.T) {
	t.Parallel()
	long := "/home/" + strings.Repeat("deep/", 40) + "data/mysql"
	for _, data := range []string{"/srv/lab/data/mysql", long, long + "2"} {
		if path := socketPath(data); len(path) > maxSocketPath {
			t.Errorf("socket of %s is %d characters long", data, len(path))
		}
	}
	if socketPath(long) == socketPath(long+"2") {
		t.Error("two directories share a socket")
	}
}

func TestInstallingNothingSaysNothing(t *testing.T) {
	t.Parallel()
	var said bytes.Buffer
	if err := Install(t.Context(), Wanted{}, &said); err != nil || said.Len() > 0 {
		t.Fatalf("%v, %q", err, said.String())
	}
}

func TestAMissingProgramIsNamed(t *testing.T) {
	t.Parallel()
	if _, err := lookPath("no-such-server"); err == nil || !strings.Contains(err.Error(), "no-such-server is not installed") {
		t.Fatalf("error = %v", err)
	}
}
