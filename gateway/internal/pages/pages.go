// Package pages owns the pages for people: static files, embedded, that use the documented REST paths with the user's
// session and nothing else. A page is a folder here and a line in List; all share what is below /assets.
package pages

import (
	"embed"
	"io/fs"

	"github.com/labplatform/labplatform/gateway/internal/landing"
	"github.com/labplatform/labplatform/pkg/edge"
	"github.com/labplatform/labplatform/pkg/pageassets"
)

//go:embed bill callout cellcounter externaledit notifications search
var files embed.FS

// List returns the pages of the public listener.
func List() []edge.Page {
	return []edge.Page{
		edge.Static("/assets", pageassets.Files()),
		landing.Static(),
		edge.Static("/bill", folder("bill")),
		edge.Static("/callout", folder("callout")),
		edge.Static("/cell-counter", folder("cellcounter")),
		edge.Static("/external-edit", folder("externaledit")),
		edge.Static("/notifications", folder("notifications")),
		edge.Static("/search", folder("search")),
	}
}

// folder returns an embedded folder; that it exists is known when the program is built.
func folder(name string) fs.FS {
	sub, err := fs.Sub(files, name)
	if err != nil {
		panic(err)
	}
	return sub
}
