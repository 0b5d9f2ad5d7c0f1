package engines

import (
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
