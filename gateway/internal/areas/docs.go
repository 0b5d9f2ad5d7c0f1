package areas

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"

	"github.com/swaggest/swgui/v5emb"

	"github.com/labplatform/labplatform/pkg/edge"
	"github.com/labplatform/labplatform/proto/openapi"
)

const (
	docsPath     = "/docs"
	documentPath = "/openapi.json"
	// docsPolicy makes browsers load nothing from other hosts and run no scripts except the page's own. %s is replaced by
	// the hashes of the inline scripts.
	docsPolicy = "default-src 'self'; script-src 'self'%s; style-src 'self' 'unsafe-inline'; img-src 'self' data:; object-src 'none';" +
		" base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)

// Docs returns the API reference: a page and its document, both embedded in the binary.
func Docs() edge.Page { return edge.Page{Route: docsPath, Matches: isDocs, Handler: docsHandler()} }

func isDocs(path string) bool {
	return path == documentPath || path == docsPath || strings.HasPrefix(path, docsPath+"/")
}

func docsHandler() http.Handler {
	page := v5emb.New("Laboratory platform API", documentPath, docsPath)
	document := edge.File("openapi.json", openapi.Document)
	policy := fmt.Sprintf(docsPolicy, scriptHashes(page))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet && r.Method != http.MethodHead {
			w.Header().Set("Allow", "GET, HEAD")
			http.Error(w, "GET only", http.StatusMethodNotAllowed)
			return
		}
		if r.URL.Path == documentPath {
			document.ServeHTTP(w, r)
			return
		}
		w.Header().Set("Content-Security-Policy", policy)
		page.ServeHTTP(w, r)
	})
}

var inlineScript = regexp.MustCompile(`(?s)<script>(.*?)</script>`)

// scriptHashes returns the hashes of the page's inline scripts, as sources of a Content-Security-Policy.
func scriptHashes(page http.Handler) (sources string) {
	w := httptest.NewRecorder()
	page.ServeHTTP(w, httptest.NewRequestWithContext(context.Background(), http.MethodGet, docsPath, nil))
	for _, script := range inlineScript.FindAllStringSubmatch(w.Body.String(), -1) {
		sum := sha256.Sum256([]byte(script[1]))
		sources += " 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
	}
	return sources
}
