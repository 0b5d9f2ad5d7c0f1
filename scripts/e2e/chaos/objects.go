package main

import (
	"net"
	"net/url"
	"strconv"
	"strings"

	"github.com/labplatform/labplatform/pkg/testkit/netfault"
	"github.com/labplatform/labplatform/scripts/devstack/endpoints"
)

// serveObjects starts an S3 object store that serves the folder of objects, behind a link.
func (p *platform) serveObjects() error {
	base, err := endpoints.FreeBase()
	if err != nil {
		return err
	}
	address := net.JoinHostPort("127.0.0.1", strconv.Itoa(base))
	if err := p.StartObjects(p.objectsFolder(), address); err != nil {
		return err
	}
	l, err := netfault.Listen()
	if err != nil {
		return err
	}
	l.Serve(address)
	p.links["objects"] = l
	environ := p.Endpoints.Environ["externaledit"]
	environ["EXTERNAL_EDIT_BLOB_URL"] = "s3://lab-reports?region=ap-south-1&use_path_style=true&endpoint=" +
		url.QueryEscape("http://"+l.Addr())
	environ["AWS_ACCESS_KEY_ID"], environ["AWS_SECRET_ACCESS_KEY"] = "lab", "lab"
	return nil
}

func (p *platform) objectsFolder() string {
	folder, _, _ := strings.Cut(strings.TrimPrefix(p.Endpoints.BlobURL, "file://"), "?")
	return folder
}
