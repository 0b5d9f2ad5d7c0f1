package engines

import (
	"context"
	"net/http"
	"os"

	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3afero"
	"github.com/spf13/afero"
)

// Bucket is the only bucket of the object store that ServeObjects runs.
const Bucket = "lab-reports"

// ServeObjects serves the files of a folder over the S3 protocol at address until ctx ends.
func ServeObjects(ctx context.Context, address, folder string) error {
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	backend, err := s3afero.SingleBucket(Bucket, afero.NewBasePathFs(afero.NewOsFs(), folder), afero.NewMemMapFs())
	if err != nil {
		return err
	}
	handler := gofakes3.New(backend, gofakes3.WithLogger(gofakes3.DiscardLog())).Server()
	server := &http.Server{Addr: address, Handler: handler}
	context.AfterFunc(ctx, func() { _ = server.Close() })
	if err := server.ListenAndServe(); ctx.Err() == nil {
		return err
	}
	return nil
}
