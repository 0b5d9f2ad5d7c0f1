// Package pages contains the web pages of the gateway as embedded static files. The pages call only the documented REST
// API, with the session of the user, and the paths of package landing. Each page is a folder of this package and an
// entry in List. All pages share the files below /assets.
package pages

import (
	"embed"
	"io/fs"

	"github.com/labplatform/labplatform/gateway/internal/landing"
	"github.com/labplatform/labplatform/pkg/edge"
	"github.com/labplatform/labplatform/pkg/pageassets"
)

//go:embed bill callout calloutsettings cellcounter cellcounterkeys externaledit notifications search
var files embed.FS

// List returns the pages of the public listener.
func List() []edge.Page {
	return []edge.Page{
		edge.Static("/assets", pageassets.Files()),
		landing.Static(),
		edge.Static("/bill", folder("bill")),
		edge.Static("/callout", folder("callout")),
		edge.Static("/callout-settings", folder("calloutsettings")),
		edge.Static("/cell-counter", folder("cellcounter")),
		edge.Static("/cell-counter-keys", folder("cellcounterkeys")),
		edge.Static("/external-edit", folder("externaledit")),
		edge.Static("/notifications", folder("notifications")),
		edge.Static("/search", folder("search")),
	}
}

// folder returns an embedded folder. It panics if the folder does not exist, which the embed directive excludes.
func folder(name string) fs.FS {
	sub, err := fs.Sub(files, name)
	if err != nil {
		panic(err)
	}
	return sub
}
