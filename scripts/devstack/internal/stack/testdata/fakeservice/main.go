// Command fakeservice stands in for a service in the tests of the stack: it is ready once it serves and leaves a
// file behind when it migrates.
package main

import (
	"context"
	"net/http"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	if os.Args[1] == "migrate" {
		if err := os.WriteFile(os.Getenv("FAKE_MIGRATED"), []byte(os.Getenv("FAKE_DB_PORT")), 0o600); err != nil {
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
