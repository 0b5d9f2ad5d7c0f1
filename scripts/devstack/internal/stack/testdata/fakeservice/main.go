// Command fakeservice replaces every service in the tests of the stack. It is ready once it listens. Its `migrate`
// creates the tables of all services, which the demo laboratory fills, and writes a file that proves the call.
package main

import (
	"context"
	"database/sql"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	"github.com/go-sql-driver/mysql"

	"github.com/labplatform/labplatform/pkg/mysqldb"
)

func main() {
	if os.Args[1] == "migrate" {
		if err := migrate(context.Background()); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	server := &http.Server{Addr: os.Getenv("FAKE_HOST") + ":" + os.Getenv("FAKE_ADMIN_PORT"),
		Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusOK) })}
	context.AfterFunc(ctx, func() { _ = server.Close() })
	_ = server.ListenAndServe()
}

// migrate runs the migrations of each service in the folder FAKE_SERVICES, except cdc's.
func migrate(ctx context.Context) error {
	dsn := mysql.NewConfig()
	dsn.Net, dsn.Addr = "tcp", os.Getenv("FAKE_DB_HOST")+":"+os.Getenv("FAKE_DB_PORT")
	dsn.User, dsn.DBName, dsn.ParseTime = os.Getenv("FAKE_DB_USER"), os.Getenv("FAKE_DB_DATABASE"), true
	connector, err := mysql.NewConnector(dsn)
	if err != nil {
		return err
	}
	db := sql.OpenDB(connector)
	defer func() { _ = db.Close() }()
	folders, err := filepath.Glob(filepath.Join(os.Getenv("FAKE_SERVICES"), "*", "migrations"))
	if err != nil {
		return err
	}
	for _, folder := range folders {
		name := filepath.Base(filepath.Dir(folder))
		files, err := filepath.Glob(filepath.Join(folder, "*.sql"))
		if err != nil {
			return err
		}
		// The stack itself creates cdc's tables when change capture is off.
		if name == "cdc" || len(files) == 0 {
			continue
		}
		if err := mysqldb.Migrate(
			ctx,
			db,
			[]mysqldb.Schema{{Service: name, Files: os.DirFS(folder)}},
			slog.New(slog.DiscardHandler),
		); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return os.WriteFile(os.Getenv("FAKE_MIGRATED"), []byte(os.Getenv("FAKE_DB_PORT")), 0o600)
}
