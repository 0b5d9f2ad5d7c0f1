// Package pageassets contains the files that pages share: the stylesheet and the icon of all pages, and the scripts of
// the gateway's pages.
package pageassets

import (
	"embed"
	"io/fs"
)

//go:embed lab.css *.js icon.svg
var files embed.FS

// Files returns the embedded files.
func Files() fs.FS { return files }
