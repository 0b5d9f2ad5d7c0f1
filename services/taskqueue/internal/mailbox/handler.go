package mailbox

import (
	"embed"
	"io/fs"
	"net/http"

	"github.com/labplatform/labplatform/pkg/httpserver"
	"github.com/labplatform/labplatform/pkg/pageassets"
)

//go:embed page
var pageFiles embed.FS

// policy lets the page use its own files only; the HTML of e-mails is shown in a frame without scripts.
const policy = "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; connect-src 'self'; img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// Handler serves the page at /outbox/ and its JSON API: GET and DELETE /outbox/messages. A browser's request
// from another site is refused.
func Handler(store *Store) (http.Handler, error) {
	files, err := fs.Sub(pageFiles, "page")
	if err != nil {
		return nil, err
	}
	mux := http.NewServeMux()
	mux.Handle("GET /outbox/", http.StripPrefix("/outbox/", http.FileServerFS(files)))
	mux.Handle("GET /outbox/lab.css", http.StripPrefix("/outbox/", http.FileServerFS(pageassets.Files())))
	mux.HandleFunc("GET /outbox/messages", func(w http.ResponseWriter, r *http.Request) {
		list, err := store.List(r.Context(), r.FormValue("to"), r.FormValue("channel"))
		if err != nil {
			store.unavailable(w, r, err)
			return
		}
		httpserver.WriteJSON(w, http.StatusOK, map[string][]Message{"messages": list})
	})
	mux.HandleFunc("DELETE /outbox/messages", func(w http.ResponseWriter, r *http.Request) {
		if err := store.Clear(r.Context()); err != nil {
			store.unavailable(w, r, err)
			return
		}
		w.WriteHeader(http.StatusNoContent)
	})
	return http.NewCrossOriginProtection().Handler(harden(mux)), nil
}

func harden(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		httpserver.Harden(w.Header())
		w.Header().Set("Content-Security-Policy", policy)
		w.Header().Set("Referrer-Policy", "no-referrer")
		next.ServeHTTP(w, r)
	})
}

func (s *Store) unavailable(w http.ResponseWriter, r *http.Request, err error) {
	s.log.WarnContext(r.Context(), "the mailbox is unavailable", "error", err)
	httpserver.WriteJSON(w, http.StatusServiceUnavailable,
		map[string]string{"message": "The mailbox cannot be read now; its Redis does not answer"})
}
