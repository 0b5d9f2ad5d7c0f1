// Package callout owns the page /callout/: the critical results of a laboratory that wait for a call, for a screen on the
// wall and for the person who calls. It holds no data: what it shows it gets from the documented paths with the reader's
// session.
package callout

import (
	"embed"
	"io/fs"

	"github.com/labplatform/labplatform/pkg/edge"
)

//go:embed files
var embedded embed.FS

// Page is the page at /callout.
func Page() edge.Page {
	files, err := fs.Sub(embedded, "files")
	if err != nil {
		panic(err) // the folder is part of the binary
	}
	return edge.Static("/callout", files)
}
