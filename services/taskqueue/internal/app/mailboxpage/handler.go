// Package mailboxpage serves the page that shows the messages in the development mailbox.
package mailboxpage

import (
	"embed"
	"io/fs"
	"log/slog"
	"net/http"

	"github.com/labplatform/labplatform/pkg/httpserver"
	"github.com/labplatform/labplatform/pkg/pageassets"
	"github.com/labplatform/labplatform/services/taskqueue/internal/store/mailbox"
)

//go:embed page
var pageFiles embed.FS

// Handler serves the page at /outbox/ and its JSON API: GET and DELETE /outbox/messages. Cross-site requests of
// browsers are rejected.
func Handler(store *mailbox.Store, log *slog.Logger) http.Handler {
	files, _ := fs.Sub(pageFiles, "page") // cannot fail: the folder is embedded
	mux := http.NewServeMux()
	mux.Handle("GET /outbox/", http.StripPrefix("/outbox/", http.FileServerFS(files)))
	mux.Handle("GET /outbox/lab.css", http.StripPrefix("/outbox/", http.FileServerFS(pageassets.Files())))
	mux.HandleFunc("GET /outbox/messages", func(w http.ResponseWriter, r *http.Request) {
		list, err := store.List(r.Context(), r.FormValue("to"), r.FormValue("channel"))
		if err != nil {
			unavailable(w, r, log, err)
			return
		}
		httpserver.WriteJSON(w, http.StatusOK, map[string][]mailbox.Message{"messages": list})
	})
	mux.HandleFunc("DELETE /outbox/messages", func(w http.ResponseWriter, r *http.Request) {
		if err := store.Clear(r.Context()); err != nil {
			unavailable(w, r, log, err)
			return
		}
		w.WriteHeader(http.StatusNoContent)
	})
	return httpserver.LocalHost(httpserver.Page("'self' 'unsafe-inline'", mux)) // mails are shown without scripts
}

func unavailable(w http.ResponseWriter, r *http.Request, log *slog.Logger, err error) {
	log.WarnContext(r.Context(), "the mailbox is unavailable", "error", err)
	httpserver.WriteJSON(w, http.StatusServiceUnavailable,
		map[string]string{"message": "The mailbox cannot be read now; its Redis does not answer"})
}
