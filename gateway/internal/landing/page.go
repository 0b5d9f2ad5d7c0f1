package landing

import (
	"bytes"
	"embed"
	"html/template"
	"io/fs"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/labplatform/labplatform/pkg/edge"
	"github.com/labplatform/labplatform/pkg/httpserver"
)

const (
	signIn       = "/sign-in"
	signOut      = "/sign-out"
	visitorPath  = "/sign-in/person"
	countersPath = "/sign-in/counters"
	cookie       = "sessionid"

	// pagePolicy is that of the other pages of the gateway.
	pagePolicy = "default-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'; object-src 'none'"
	// signedInFor equals the lifetime of the demo's sessions.
	signedInFor = 8 * time.Hour
)

//go:embed index.html files
var files embed.FS

var page = template.Must(template.ParseFS(files, "index.html"))

// Static serves the scripts and styles of the page below /landing.
func Static() edge.Page {
	sub, err := fs.Sub(files, "files")
	if err != nil {
		panic(err)
	}
	return edge.Static("/landing", sub)
}

// Page serves "/": the landing page of a demo, or a redirect to the API reference when d is nil. Other pages read from
// it which person is signed in, and the facts of the platform.
func Page(d *Demo, f Facts) edge.Page {
	mux := http.NewServeMux()
	if d == nil {
		mux.Handle("GET /{$}", http.RedirectHandler("/docs", http.StatusFound))
		mux.HandleFunc("GET "+visitorPath, func(w http.ResponseWriter, _ *http.Request) {
			httpserver.WriteJSON(w, http.StatusOK, visitor{Facts: f})
		})
	} else {
		mux.HandleFunc("GET /{$}", d.show)
		mux.HandleFunc("GET "+visitorPath, func(w http.ResponseWriter, r *http.Request) {
			httpserver.WriteJSON(w, http.StatusOK, d.describe(r, f))
		})
		mux.HandleFunc("GET "+countersPath, d.count)
		mux.Handle("POST "+signIn, sameOrigin(d.enter))
		mux.Handle("POST "+signOut, sameOrigin(leave))
	}
	return edge.Page{
		Route: "/",
		Matches: func(path string) bool {
			return slices.Contains([]string{"/", signIn, signOut, visitorPath, countersPath}, path)
		},
		Handler: mux,
	}
}

// Facts are properties of the platform that pages depend on.
type Facts struct {
	HasSearch  bool   `json:"has_search"`   // search is deployed; it finds numbers and describes sessions
	SignOutURL string `json:"sign_out_url"` // "": the pages do not know where a session is ended
}

// visitor is the response of visitorPath. ID, Name and Role are those of a signed-in demo person, else zero.
type visitor struct {
	Facts

	Demo      bool   `json:"demo"`      // "/" offers persons to sign in as
	Anonymous bool   `json:"anonymous"` // the request has no session cookie
	ID        int64  `json:"id"`
	Name      string `json:"name"`
	Role      string `json:"role"`
}

func (d *Demo) describe(r *http.Request, f Facts) visitor {
	_, err := r.Cookie(cookie)
	v := visitor{Demo: true, Anonymous: err != nil, Facts: f}
	if p := d.visitor(r); p != nil {
		v.ID, v.Name, v.Role = p.ID, p.Name, p.Role
	}
	return v
}

// visitor returns the signed-in demo person, or nil.
func (d *Demo) visitor(r *http.Request) *Person {
	c, err := r.Cookie(cookie)
	if err != nil {
		return nil
	}
	return d.person(c.Value)
}

func (d *Demo) show(w http.ResponseWriter, r *http.Request) {
	var text bytes.Buffer
	data := struct {
		*Demo
		Visitor *Person
		To      string
	}{d, d.visitor(r), local(r.URL.Query().Get("to"))}
	if err := page.Execute(&text, data); err != nil {
		http.Error(w, "The page could not be rendered. Reload it.", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Security-Policy", pagePolicy)
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_, _ = w.Write(text.Bytes())
}

// enter sets the session cookie of a demo person. Other sessions cannot be obtained this way.
func (d *Demo) enter(w http.ResponseWriter, r *http.Request) {
	p := d.named(r.PostFormValue("name"))
	if p == nil {
		http.Error(w, "There is no such person in this demo. Go back and choose one.", http.StatusBadRequest)
		return
	}
	setCookie(w, r, p.Session.Reveal(), int(signedInFor.Seconds()))
	http.Redirect(w, r, local(r.PostFormValue("to")), http.StatusSeeOther)
}

func leave(w http.ResponseWriter, r *http.Request) {
	setCookie(w, r, "", -1)
	http.Redirect(w, r, "/", http.StatusSeeOther)
}

func setCookie(w http.ResponseWriter, r *http.Request, value string, maxAge int) {
	http.SetCookie(w, &http.Cookie{
		Name: cookie, Value: value, Path: "/", MaxAge: maxAge, HttpOnly: true, SameSite: http.SameSiteLaxMode, Secure: r.TLS != nil,
	})
}

// local returns the destination if it is a path on this host, otherwise "/", because the parameter may come from a link
// on another site.
func local(to string) string {
	if !strings.HasPrefix(to, "/") || strings.HasPrefix(to, "//") || strings.ContainsAny(to, "\\\r\n\t") {
		return "/"
	}
	return to
}

// sameOrigin rejects forms posted from other origins, which could sign a visitor in or out.
func sameOrigin(next http.HandlerFunc) http.Handler {
	return http.NewCrossOriginProtection().Handler(next)
}
