package engines

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"strconv"
	"time"

	"github.com/FerretDB/FerretDB/ferretdb"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/labplatform/labplatform/pkg/service"
	"github.com/labplatform/labplatform/scripts/devstack/internal/process"
)

// DocumentStore returns the embedded document store. It runs as a child process: this executable with the verb
// document-store.
func DocumentStore(place Place, executable string) Engine {
	addr := "127.0.0.1:" + strconv.Itoa(place.Port)
	return Engine{
		Spec: process.Spec{Name: "mongo", LogFile: place.Log,
			Command: []string{executable, "document-store", "--listen", addr, "--data", place.Data}},
		Ready: func(ctx context.Context) error { return pingMongo(ctx, "mongodb://"+addr+"/") },
	}
}

// ServeDocumentStore runs the document store in this process until ctx ends. It keeps its databases as files in the
// folder data.
func ServeDocumentStore(ctx context.Context, listen, data string) error {
	if err := os.MkdirAll(data, 0o755); err != nil {
		return fmt.Errorf("document store: %w", err)
	}
	service.GarbageCollection{GOGC: os.Getenv("GOGC")}.Delay() // each document allocates many short-lived values
	warnings := slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn})
	store, err := ferretdb.New(&ferretdb.Config{
		Listener:  ferretdb.ListenerConfig{TCP: listen},
		Handler:   "sqlite",
		SQLiteURL: "file:" + data + "/",
		Logger:    slog.New(lazyAttributes{Handler: warnings}),
	})
	if err != nil {
		return fmt.Errorf("document store: %w", err)
	}
	return store.Run(ctx)
}

func pingMongo(ctx context.Context, uri string) error {
	client, err := mongo.Connect(options.Client().ApplyURI(uri).SetServerSelectionTimeout(time.Second))
	if err != nil {
		return err
	}
	defer func() { _ = client.Disconnect(ctx) }()
	return client.Ping(ctx, nil)
}
