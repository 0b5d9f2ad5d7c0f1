package areas

import (
	"net/http"
	"strings"

	"github.com/swaggest/swgui/v5emb"

	"github.com/labplatform/labplatform/pkg/edge"
	"github.com/labplatform/labplatform/proto/openapi"
)

const (
	docsPath     = "/docs"
	documentPath = "/openapi.json"
	// docsPolicy makes browsers refuse everything that the page would load from another host.
	docsPolicy = "default-src 'self' 'unsafe-inline'; img-src 'self' data:; frame-ancestors 'none'"
)

// Docs returns the API reference: a page and its document, both embedded in the binary.
func Docs() edge.Page { return edge.Page{Route: docsPath, Matches: isDocs, Handler: docsHandler()} }

func isDocs(path string) bool {
	return path == documentPath || path == docsPath || strings.HasPrefix(path, docsPath+"/")
}

func docsHandler() http.Handler {
	page := v5emb.New("Laboratory platform API", documentPath, docsPath)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet && r.Method != http.MethodHead {
			w.Header().Set("Allow", "GET, HEAD")
			http.Error(w, "GET only", http.StatusMethodNotAllowed)
			return
		}
		if r.URL.Path == documentPath {
			w.Header().Set("Content-Type", "application/json")
			_, _ = w.Write(openapi.Document)
			return
		}
		w.Header().Set("Content-Security-Policy", docsPolicy)
		page.ServeHTTP(w, r)
	})
}
