// Package queuepage serves the operators' page of the queue, and its JSON API.
package queuepage

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"embed"
	"encoding/json"
	"io/fs"
	"log/slog"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/labplatform/labplatform/pkg/apperr"
	"github.com/labplatform/labplatform/pkg/config"
	"github.com/labplatform/labplatform/pkg/httpserver"
	"github.com/labplatform/labplatform/pkg/pageassets"
	"github.com/labplatform/labplatform/services/taskqueue/internal/operate"
)

//go:embed page
var pageFiles embed.FS

// Path is the URL path of the page.
const Path = "/queue-admin/"

type server struct {
	*operate.Operator
	token config.Secret
	log   *slog.Logger
}

// Handler serves the page and its JSON API under Path. The files contain no secrets. Each API call needs a token;
// during a rotation, several are valid. An empty token allows all calls. Cross-site requests of browsers are rejected.
func Handler(o *operate.Operator, token config.Secret, log *slog.Logger) http.Handler {
	files, _ := fs.Sub(pageFiles, "page") // cannot fail: the folder is embedded
	s := &server{Operator: o, token: token, log: log}
	api := http.NewServeMux()
	for pattern, serve := range map[string]func(*http.Request) (any, error){
		"GET /overview":  func(r *http.Request) (any, error) { return o.Overview(r.Context()) },
		"GET /ahead":     func(r *http.Request) (any, error) { return o.Ahead(r.Context()) },
		"GET /jobs":      s.search,
		"GET /jobs/{id}": func(r *http.Request) (any, error) { return o.Life(r.Context(), r.PathValue("id")) },
		"POST /jobs":     ordered(s.change),
		"POST /pause":    ordered(o.Pause),
		"POST /preview":  ordered(o.Preview),
		"POST /apply":    ordered(o.Apply),
	} {
		api.Handle(pattern, s.answer(serve))
	}
	mux := http.NewServeMux()
	mux.Handle(Path, http.StripPrefix(Path, http.FileServerFS(files)))
	mux.Handle(Path+"lab.css", http.StripPrefix(Path, http.FileServerFS(pageassets.Files())))
	mux.Handle(Path+"api/", s.guard(http.StripPrefix(Path+"api", api)))
	return httpserver.Page("'self'", mux)
}

func (s *server) search(r *http.Request) (any, error) {
	q := r.URL.Query()
	x := operate.Order{Channel: q.Get("channel"), States: q.Get("states"), Reason: q.Get("reason"),
		Cursor: q.Get("cursor")}
	if text := q.Get("lab_id"); text != "" {
		var err error
		if x.LabID, err = strconv.ParseInt(text, 10, 64); err != nil {
			return nil, apperr.InvalidField("lab_id", "the laboratory must be a number, or empty for all")
		}
	}
	return s.Search(r.Context(), x)
}

// change performs a change and returns how many jobs were changed and how many were not.
func (s *server) change(ctx context.Context, x operate.Order) (map[string]int, error) {
	c, err := s.Change(ctx, x)
	return map[string]int{"done": len(c.Done), "left": len(c.Others)}, err
}

const maxOrder = 64 << 10

// ordered decodes an order from the body and calls do with it.
func ordered[T any](do func(context.Context, operate.Order) (T, error)) func(*http.Request) (any, error) {
	return func(r *http.Request) (any, error) {
		var x operate.Order
		decoder := json.NewDecoder(http.MaxBytesReader(nil, r.Body, maxOrder))
		decoder.DisallowUnknownFields()
		if err := decoder.Decode(&x); err != nil {
			return nil, apperr.InvalidField("body", "the body is not the JSON of this page; load the page again").WithCause(err)
		}
		return do(r.Context(), x)
	}
}

// guard requires a token. It compares digests, so that the comparison time reveals neither the token nor its length.
func (s *server) guard(next http.Handler) http.Handler {
	var tokens [][sha256.Size]byte
	for _, token := range s.token.Keys() {
		tokens = append(tokens, sha256.Sum256(token))
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		given, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
		got := sha256.Sum256([]byte(given))
		same := func(want [sha256.Size]byte) bool { return subtle.ConstantTimeCompare(want[:], got[:]) == 1 }
		if s.token.IsSet() && !slices.ContainsFunc(tokens, same) {
			if given != "" {
				s.log.WarnContext(r.Context(), "a wrong token was shown to the queue's page", "remote", r.RemoteAddr)
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
			s.log.WarnContext(r.Context(), "the queue's page could not answer", "path", r.Pattern,
				"error", apperr.WithCauses(known))
		}
		httpserver.WriteError(w, httpserver.Envelope, known)
	})
}
