// Package traceviewer shows traces of the platform on this machine: a list of the newest ones and the tree of each. It
// is for developers who want to follow a request through the services, not for production.
package traceviewer

import (
	"cmp"
	"context"
	"fmt"
	"html/template"
	"net"
	"net/http"
	"slices"
	"time"

	"github.com/labplatform/labplatform/scripts/devstack/tracing"
)

const (
	maxSpans      = 50_000
	maxTraces     = 100
	headerTimeout = 5 * time.Second
)

// Start collects traces on the address collector and serves the pages on the address page, until ctx ends.
func Start(ctx context.Context, collector, page string) error {
	spans, err := tracing.ListenOn(ctx, collector, maxSpans)
	if err != nil {
		return fmt.Errorf("trace viewer: %w", err)
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", page)
	if err != nil {
		spans.Close()
		return fmt.Errorf("trace viewer: %w", err)
	}
	server := &http.Server{Handler: Handler(spans.All), ReadHeaderTimeout: headerTimeout}
	go func() { _ = server.Serve(listener) }() // returns after Close
	context.AfterFunc(ctx, func() { _ = server.Close(); spans.Close() })
	return nil
}

// row is one trace in the list.
type row struct {
	ID, Name, Service string
	At                time.Time
	Took              time.Duration
	Spans             int
}

// view is the content of a page: the list, or one trace.
type view struct {
	Rows []row
	Tree string
	More []string // ids of other traces that spans of this one link to
}

// Handler serves the list on / and the tree of a trace on /ID. spans returns the collected spans.
func Handler(spans func() []tracing.Span) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, _ *http.Request) {
		_ = page.Execute(w, view{Rows: rows(spans())}) // fails only when the client has disconnected
	})
	mux.HandleFunc("GET /{trace}", func(w http.ResponseWriter, r *http.Request) {
		id := r.PathValue("trace")
		tree := tracing.Grow(id, spans())
		v := view{Tree: tree.All()}
		if v.Tree == "" {
			http.Error(w, "No spans of this trace have come yet. Services send theirs every few seconds.", http.StatusNotFound)
			return
		}
		for _, s := range tree.Spans() {
			for _, l := range s.Links {
				if l.Trace != id && !slices.Contains(v.More, l.Trace) {
					v.More = append(v.More, l.Trace)
				}
			}
		}
		_ = page.Execute(w, v) // fails only when the client has disconnected
	})
	return mux
}

// rows returns the last maxTraces traces, the newest first. A trace has the name of its first span.
func rows(spans []tracing.Span) []row {
	first, end, count := map[string]tracing.Span{}, map[string]uint64{}, map[string]int{}
	for _, s := range spans {
		if f, known := first[s.Trace]; !known || s.Begin < f.Begin {
			first[s.Trace] = s
		}
		end[s.Trace] = max(end[s.Trace], s.End)
		count[s.Trace]++
	}
	list := make([]row, 0, len(first))
	for id, s := range first {
		list = append(list, row{
			ID: id, Name: s.Name, Service: s.Service(), Spans: count[id],
			At:   time.Unix(0, int64(s.Begin)),                                  // no overflow for times of this century
			Took: time.Duration(end[id] - s.Begin).Round(10 * time.Microsecond), // no overflow, a span ends after it began
		})
	}
	slices.SortFunc(list, func(a, b row) int { return cmp.Or(b.At.Compare(a.At), cmp.Compare(a.ID, b.ID)) })
	return list[:min(len(list), maxTraces)]
}

var page = template.Must(template.New("page").Parse(`<!doctype html><html lang="en"><meta charset="utf-8"><title>Traces</title>
<style>body{font:16px/1.5 system-ui,sans-serif;margin:2rem;color-scheme:light dark}
td,th{padding:.2rem 1rem .2rem 0;text-align:left}
pre{font-size:.9rem;overflow-x:auto}</style>
{{if .Tree}}<h1>A trace</h1><p><a href="/">All traces</a>{{range .More}} · <a href="/{{.}}">what led to it</a>{{end}}</p><pre>{{.Tree}}</pre>
{{else}}<h1>The last traces</h1><p>Services send theirs every few seconds: <a href="/">look again</a>.</p>
<table><tr><th>began</th><th>took</th><th>spans</th><th>service</th><th>first span</th></tr>
{{range .Rows}}<tr><td>{{.At.Format "15:04:05.000"}}</td><td>{{.Took}}</td><td>{{.Spans}}</td><td>{{.Service}}</td>
<td><a href="/{{.ID}}">{{.Name}}</a></td></tr>{{else}}<tr><td colspan="5">None yet: send a request.</td></tr>{{end}}</table>{{end}}</html>
`))
