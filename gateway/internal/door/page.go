package door

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
	signIn      = "/sign-in"
	signOut     = "/sign-out"
	who         = "/sign-in/person"
	numbersPath = "/sign-in/counters"
	cookie      = "sessionid"

	// pagePolicy lets the page's own forms sign in, which pages elsewhere have no need of.
	pagePolicy = "default-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'; object-src 'none'"
	// signedInFor is as long as the demo's sessions last.
	signedInFor = 8 * time.Hour
)

//go:embed index.html files
var files embed.FS

var page = template.Must(template.ParseFS(files, "index.html"))

// Static are the scripts and styles of the page, below /door.
func Static() edge.Page {
	sub, err := fs.Sub(files, "files")
	if err != nil {
		panic(err)
	}
	return edge.Static("/door", sub)
}

// Page is what stands at /: of a demo the door, else the way to the API reference. Pages ask it who is signed in.
func Page(d *Demo) edge.Page {
	mux := http.NewServeMux()
	if d == nil {
		mux.Handle("GET /{$}", http.RedirectHandler("/docs", http.StatusFound))
		mux.HandleFunc("GET "+who, func(w http.ResponseWriter, _ *http.Request) { httpserver.WriteJSON(w, http.StatusOK, answer{}) })
	} else {
		mux.HandleFunc("GET /{$}", d.show)
		mux.HandleFunc("GET "+who, d.tell)
		mux.HandleFunc("GET "+numbersPath, d.count)
		mux.Handle("POST "+signIn, sameOrigin(d.enter))
		mux.Handle("POST "+signOut, sameOrigin(leave))
	}
	return edge.Page{
		Route:   "/",
		Matches: func(path string) bool { return slices.Contains([]string{"/", signIn, signOut, who, numbersPath}, path) },
		Handler: mux,
	}
}

// answer tells a page who looks at it.
type answer struct {
	Door   bool   `json:"door"`   // one may sign in at /
	Nobody bool   `json:"nobody"` // and has to
	ID     int64  `json:"id"`
	Name   string `json:"name"` // of who is signed in; "": no one, or by another way
	Role   string `json:"role"`
}

func (d *Demo) tell(w http.ResponseWriter, r *http.Request) {
	_, err := r.Cookie(cookie)
	a := answer{Door: true, Nobody: err != nil}
	if p := d.visitor(r); p != nil {
		a.ID, a.Name, a.Role = p.ID, p.Name, p.Role
	}
	httpserver.WriteJSON(w, http.StatusOK, a)
}

// visitor is nil for someone who is none of the demo's people.
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
		http.Error(w, "The page could not be made. Try again.", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Security-Policy", pagePolicy)
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_, _ = w.Write(text.Bytes())
}

// enter gives the browser the session of one of the demo's people, and of no one else.
func (d *Demo) enter(w http.ResponseWriter, r *http.Request) {
	p := d.named(r.PostFormValue("name"))
	if p == nil {
		http.Error(w, "There is no such person in this demo. Go back and choose one.", http.StatusBadRequest)
		return
	}
	setCookie(w, p.Session.Reveal(), int(signedInFor.Seconds()))
	http.Redirect(w, r, local(r.PostFormValue("to")), http.StatusSeeOther)
}

func leave(w http.ResponseWriter, r *http.Request) {
	setCookie(w, "", -1)
	http.Redirect(w, r, "/", http.StatusSeeOther)
}

func setCookie(w http.ResponseWriter, value string, maxAge int) {
	http.SetCookie(w, &http.Cookie{Name: cookie, Value: value, Path: "/", MaxAge: maxAge, HttpOnly: true, SameSite: http.SameSiteLaxMode})
}

// local is the path of one of our pages; "/" for anything else, for a link may lead here from anywhere.
func local(to string) string {
	if !strings.HasPrefix(to, "/") || strings.HasPrefix(to, "//") || strings.ContainsAny(to, "\\\r\n\t") {
		return "/"
	}
	return to
}

// sameOrigin refuses forms of other pages, which would sign a browser in or out.
func sameOrigin(next http.HandlerFunc) http.Handler {
	return http.NewCrossOriginProtection().Handler(next)
}
