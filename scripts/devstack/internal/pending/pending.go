// Package pending owns the tables of the services that this checkout does not have yet, so that their fixtures load
// today. One file a service; who adds the service deletes its file, and in the end this package.
package pending

import (
	"context"
	"database/sql"
	"embed"
	"fmt"
	"io/fs"
	"strings"

	"github.com/labplatform/labplatform/pkg/testkit/legacydb"
)

//go:embed *.sql
var files embed.FS

const extension = ".sql"

// Services returns the names of the services whose tables are here.
func Services() []string {
	names, _ := fs.Glob(files, "*"+extension) // fails on a malformed pattern only
	for i, name := range names {
		names[i] = strings.TrimSuffix(name, extension)
	}
	return names
}

// Create makes the tables that the database lacks of every service that built denies. The tables of a built service
// are its migrations' alone.
func Create(ctx context.Context, db *sql.DB, built func(service string) bool) error {
	for _, service := range Services() {
		if built(service) {
			continue
		}
		text, err := files.ReadFile(service + extension)
		if err != nil {
			return fmt.Errorf("tables of %s: %w", service, err)
		}
		for _, statement := range legacydb.Split(string(text)) {
			if _, err := db.ExecContext(ctx, statement); err != nil {
				return fmt.Errorf("tables of %s: %w (statement %.80q)", service, err, statement)
			}
		}
	}
	return nil
}
