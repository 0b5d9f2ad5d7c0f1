package pages

import (
	"io/fs"
	"net/http"
	"net/http/httptest"
	"path"
	"regexp"
	"strings"
	"testing"

	"github.com/labplatform/labplatform/pkg/edge"
)

// maxWeight is the limit in bytes for a page with everything that it loads, as browsers receive it: two seconds at 300
// kbit/s.
const maxWeight = 60 << 10

// loads matches references to the files that a file loads: styles, icons and scripts of a page, imports of a script.
var loads = regexp.MustCompile(`(?:src|href)="([^":#?]+\.(?:css|js|svg))"|(?:from|import) "(\.[^"]+\.js)"`)

// weights requests a file and all files that it loads, and adds up their sizes, as sent to a browser and uncompressed.
type weights struct {
	t           *testing.T
	served      []edge.Page
	seen        map[string]bool
	sent, plain int
}

func (w *weights) add(address string) {
	w.t.Helper()
	if w.seen[address] {
		return
	}
	w.seen[address] = true
	text := w.get(address, "")
	w.sent += len(w.get(address, "gzip"))
	w.plain += len(text)
	for _, found := range loads.FindAllStringSubmatch(text, -1) {
		other := found[1] + found[2]
		if !strings.HasPrefix(other, "/") {
			other = path.Join(path.Dir(address), other)
		}
		w.add(other)
	}
}

func (w *weights) get(address, encoding string) string {
	w.t.Helper()
	for _, page := range w.served {
		if !page.Matches(address) {
			continue
		}
		r := httptest.NewRequestWithContext(w.t.Context(), http.MethodGet, address, http.NoBody)
		r.Header.Set("Accept-Encoding", encoding)
		got := httptest.NewRecorder()
		page.Handler.ServeHTTP(got, r)
		if got.Code != http.StatusOK {
			w.t.Fatalf("%s: got %d, want 200", address, got.Code)
		}
		return got.Body.String()
	}
	w.t.Fatalf("no page serves %s", address)
	return ""
}

func TestNoPageIsHeavy(t *testing.T) {
	t.Parallel()
	folders, err := fs.ReadDir(files, ".")
	if err != nil || len(folders) < 6 {
		t.Fatalf("%d folders, %v", len(folders), err)
	}
	t.Logf("%-16s %8s %12s", "page", "sent", "uncompressed")
	for _, folder := range folders {
		w := &weights{t: t, served: List(), seen: map[string]bool{}}
		for _, page := range w.served {
			if strings.ReplaceAll(page.Route, "-", "") == "/"+folder.Name() {
				w.add(page.Route + "/index.html")
			}
		}
		t.Logf("%-16s %8d %12d", folder.Name(), w.sent, w.plain)
		if w.sent > maxWeight || w.plain == 0 || len(w.seen) < 4 {
			t.Errorf("%s: %d bytes of %d files are sent, want some of at least 4 files and at most %d", folder.Name(), w.sent, len(w.seen), maxWeight)
		}
	}
}
