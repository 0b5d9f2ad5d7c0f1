package cli

import (
	"context"
	"errors"
	"flag"
	"io"

	"github.com/labplatform/labplatform/scripts/devstack/internal/engines"
)

// serveDocumentStore is the child process behind the engine "mongo".
func serveDocumentStore(ctx context.Context, args []string, stderr io.Writer) error {
	flags := flag.NewFlagSet("document-store", flag.ContinueOnError)
	flags.SetOutput(stderr)
	listen := flags.String("listen", "", "address, host:port")
	data := flags.String("data", "", "directory of the databases")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if *listen == "" || *data == "" {
		return errors.New("document-store needs --listen and --data")
	}
	return engines.ServeDocumentStore(ctx, *listen, *data)
}
