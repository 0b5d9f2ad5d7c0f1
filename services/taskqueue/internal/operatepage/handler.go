// Package operatepage owns the page of the people who run the queue, at /queue-admin/ on the admin port, and its JSON
// API. It shows no payload and nothing that a caller wrote, unless a setting allows it.
package operatepage

import (
	"crypto/sha256"
	"crypto/subtle"
	"embed"
	"fmt"
	"io/fs"
	"log/slog"
	"net/http"
	"slices"
	"strings"

	"github.com/labplatform/labplatform/pkg/apperr"
	"github.com/labplatform/labplatform/pkg/config"
	"github.com/labplatform/labplatform/pkg/httpserver"
	"github.com/labplatform/labplatform/pkg/pageassets"
	"github.com/labplatform/labplatform/services/taskqueue/internal/operate"
)

//go:embed page
var pageFiles embed.FS

// Path is where the page is served.
const Path = "/queue-admin/"

// policy lets the page use its own files only.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// Config says who may use the page and what it shows.
type Config struct {
	Token        config.Secret // one of several, as during a rotation; empty: nobody is asked for one
	ShowPayloads bool
	Log          *slog.Logger
	Audit        *slog.Logger // what operators do
}

type server struct {
	Config
	operator *operate.Operator
}

// Handler serves the page and its API under Path. The files hold no secret; every call of the API needs the token. A
// browser's request from another site is refused.
func Handler(operator *operate.Operator, cfg Config) (http.Handler, error) {
	files, err := fs.Sub(pageFiles, "page")
	if err != nil {
		return nil, fmt.Errorf("open the page: %w", err)
	}
	s := &server{Config: cfg, operator: operator}
	api := http.NewServeMux()
	for pattern, serve := range map[string]func(*http.Request) (any, error){
		"GET overview":  s.overview,
		"GET ahead":     s.ahead,
		"GET jobs":      s.search,
		"GET jobs/{id}": s.life,
		"POST jobs":     s.change,
		"POST pause":    s.pause,
		"POST preview":  s.preview,
		"POST apply":    s.apply,
	} {
		method, path, _ := strings.Cut(pattern, " ")
		api.Handle(method+" "+Path+"api/"+path, s.answer(serve))
	}
	mux := http.NewServeMux()
	mux.Handle(Path, http.StripPrefix(Path, http.FileServerFS(files)))
	mux.Handle(Path+"lab.css", http.StripPrefix(Path, http.FileServerFS(pageassets.Files())))
	mux.Handle(Path+"api/", s.guard(api))
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

// guard asks for the token. Digests are compared, so that the time tells neither its text nor its length.
func (s *server) guard(next http.Handler) http.Handler {
	var tokens [][sha256.Size]byte
	for _, token := range s.Token.Keys() {
		tokens = append(tokens, sha256.Sum256(token))
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		given, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
		got := sha256.Sum256([]byte(given))
		same := func(want [sha256.Size]byte) bool { return subtle.ConstantTimeCompare(want[:], got[:]) == 1 }
		if s.Token.IsSet() && !slices.ContainsFunc(tokens, same) {
			if given != "" {
				s.Log.WarnContext(r.Context(), "a wrong token was shown to the queue's page", "remote", r.RemoteAddr)
			}
			httpserver.WriteError(w, httpserver.Envelope, apperr.New(apperr.Unauthenticated, "UNAUTHENTICATED",
				"The token is missing or wrong; it is the value of TASKQUEUE_ADMIN_TOKEN"))
			return
		}
		next.ServeHTTP(w, r)
	})
}

func (s *server) answer(serve func(*http.Request) (any, error)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := serve(r)
		if err == nil {
			httpserver.WriteJSON(w, http.StatusOK, body)
			return
		}
		known, ok := apperr.From(err)
		if !ok {
			known = apperr.New(apperr.Internal, "INTERNAL", "The page failed; the service's log says why").WithCause(err)
		}
		if httpserver.Status(known.Kind) >= http.StatusInternalServerError {
			s.Log.WarnContext(r.Context(), "the queue's page could not answer", "path", r.Pattern, "error", err)
		}
		httpserver.WriteError(w, httpserver.Envelope, known)
	})
}
