package main

import (
	"net/http/httptest"
	"net/url"
	"strings"

	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3afero"
	"github.com/spf13/afero"

	"github.com/labplatform/labplatform/pkg/testkit/link"
)

// serveObjects puts an object store of a provider over the folder of objects, and a link before it.
func (p *platform) serveObjects() error {
	const bucket = "reports"
	folder := afero.NewBasePathFs(afero.NewOsFs(), p.objectsFolder())
	backend, err := s3afero.SingleBucket(bucket, folder, afero.NewMemMapFs())
	if err != nil {
		return err
	}
	p.objects = httptest.NewServer(gofakes3.New(backend, gofakes3.WithLogger(gofakes3.DiscardLog())).Server())
	l, err := link.Listen()
	if err != nil {
		return err
	}
	l.Serve(p.objects.Listener.Addr().String())
	p.links["objects"] = l
	environ := p.Endpoints.Environ["externaledit"]
	environ["EXTERNAL_EDIT_BLOB_URL"] = "s3://" + bucket + "?region=ap-south-1&use_path_style=true&endpoint=" +
		url.QueryEscape("http://"+l.Addr())
	environ["AWS_ACCESS_KEY_ID"], environ["AWS_SECRET_ACCESS_KEY"] = "lab", "lab"
	return nil
}

func (p *platform) objectsFolder() string {
	folder, _, _ := strings.Cut(strings.TrimPrefix(p.Endpoints.BlobURL, "file://"), "?")
	return folder
}
