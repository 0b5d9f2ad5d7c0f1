package e2e

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/labplatform/labplatform/scripts/e2e/demolab"
)

// databasePassword is the password of the services' own users. Its characters test the quoting of settings.
const databasePassword = "p@ss w/o:root"

// haveOwnUsers creates the database users of the handbook and restarts the services with them, so that tests find
// missing privileges.
func haveOwnUsers(ctx context.Context) error {
	if err := demolab.MakeUsers(ctx, stack.Endpoints.MySQLDSN, "../../docs/database-users.sql", databasePassword); err != nil {
		return err
	}
	var again []string
	for name, environment := range stack.Endpoints.Environ {
		for key := range environment {
			if prefix, is := strings.CutSuffix(key, "_DB_USER"); is && !strings.HasSuffix(prefix, "CONNECTOR") {
				environment[key], environment[prefix+"_DB_PASSWORD"] = name, databasePassword
				again = append(again, name)
			}
		}
	}
	for _, name := range again {
		if err := errors.Join(stack.Stop(name), stack.Start(name, nil)); err != nil {
			return err
		}
	}
	for _, name := range again {
		if err := awaitReady(ctx, name); err != nil {
			return err
		}
	}
	return nil
}

func awaitReady(ctx context.Context, name string) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		body, err := send(ctx, adminURL(name), "", http.MethodGet, "/health/ready", "")
		if err == nil && body.status == http.StatusOK {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%s is not ready as its own database user: %s %w; denied: %q", name, body.body, err, deniedAccess())
		case <-tick.C:
		}
	}
}

// deniedAccess returns the log lines of services about statements that their users may not execute.
func deniedAccess() (lines []string) {
	files, _ := filepath.Glob(filepath.Join(stack.Dir, "logs", "*.log"))
	for _, file := range files {
		text, _ := os.ReadFile(file)
		for line := range bytes.Lines(text) {
			if bytes.Contains(line, []byte("command denied")) {
				lines = append(lines, filepath.Base(file)+": "+strings.TrimSpace(string(line)))
			}
		}
	}
	return lines
}
