// Package pageassets owns what pages share: the stylesheet and the icon of all, and the script of those of the gateway.
package pageassets

import (
	"embed"
	"io/fs"
)

//go:embed lab.css lab.js icon.svg
var files embed.FS

// Files returns them.
func Files() fs.FS { return files }
