// Package pageassets owns what all pages share, those of the gateway and those on admin ports: the stylesheet lab.css.
package pageassets

import (
	"embed"
	"io/fs"
)

//go:embed lab.css
var files embed.FS

// Files returns them.
func Files() fs.FS { return files }
