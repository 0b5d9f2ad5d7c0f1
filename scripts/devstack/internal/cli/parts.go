package cli

import (
	"context"
	"errors"
	"flag"
	"io"
	"os"
	"time"

	"github.com/labplatform/labplatform/scripts/devstack/internal/engines"
	"github.com/labplatform/labplatform/scripts/devstack/internal/settings"
	"github.com/labplatform/labplatform/scripts/devstack/internal/stack"
)

// parts are the verbs that run as one process of their own: the document store of a stack, and what a cluster for trial
// runs needs from this program.
var parts = map[string]part{
	"document-store": withData(engines.ServeDocumentStore),
	"objects":        withData(engines.ServeObjects),
	"demo":           serveDemo,
}

type part func(ctx context.Context, args []string, stderr io.Writer) error

func withData(serve func(ctx context.Context, listen, data string) error) part {
	return func(ctx context.Context, args []string, stderr io.Writer) error {
		flags := flag.NewFlagSet("store", flag.ContinueOnError)
		flags.SetOutput(stderr)
		listen := flags.String("listen", "", "address, host:port")
		data := flags.String("data", "", "directory of what is stored")
		if err := flags.Parse(args); err != nil {
			return err
		}
		if *listen == "" || *data == "" {
			return errors.New("a store needs --listen and --data")
		}
		return serve(ctx, *listen, *data)
	}
}

// serveDemo fills engines that the environment names, with the variables of package settings. It needs no repository.
func serveDemo(ctx context.Context, args []string, stderr io.Writer) error {
	flags := flag.NewFlagSet("demo", flag.ContinueOnError)
	flags.SetOutput(stderr)
	listen := flags.String("listen", "", "address that is open once the demo laboratory is loaded, host:port")
	if err := flags.Parse(args); err != nil {
		return err
	}
	s := settings.Settings{
		Dir:      os.TempDir(),
		Seed:     settings.SeedDemo,
		Pipeline: true,
		MySQLDSN: os.Getenv("LAB_MYSQL_DSN"), RedisAddr: os.Getenv("LAB_REDIS_ADDR"),
		MongoURI: os.Getenv("LAB_MONGO_URI"), BlobURL: os.Getenv("LAB_BLOB_URL"),
	}
	return stack.ServeDemo(ctx, stack.Config{Settings: s, Out: stderr, Now: time.Now}, *listen)
}
