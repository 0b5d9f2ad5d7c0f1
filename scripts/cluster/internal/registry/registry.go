// Package registry serves images to the cluster from a folder: the images that make images pushes, their base, and the
// node's.
package registry

import (
	"archive/tar"
	"bytes"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// nonroot is the user of distroless images with the tag nonroot.
const nonroot = "65532:65532"

// Serve serves a registry at address with its layers in folder. Each of the programs becomes an image of the same name
// with the tag "local"; baseFile receives the reference of the base image.
func Serve(address, folder, baseFile string, programs ...string) error {
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return err
	}
	quiet := registry.Logger(log.New(io.Discard, "", 0))
	server := &http.Server{Handler: registry.New(quiet, registry.WithBlobHandler(registry.NewDiskBlobHandler(folder)))}
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(listener) }()
	for _, program := range programs {
		if err := pushProgram(address, program); err != nil {
			return err
		}
	}
	base, err := pushBase(address)
	if err != nil {
		return err
	}
	if err := os.WriteFile(baseFile, []byte(base), 0o644); err != nil {
		return err
	}
	return <-ended
}

func pushProgram(address, program string) error {
	content, err := os.ReadFile(program)
	if err != nil {
		return err
	}
	called := filepath.Base(program)
	_, err = push(address+"/"+called+":local", []string{"/" + called}, map[string][]byte{called: content})
	return err
}

// pushBase makes a base image like distroless/static, which not every network can reach. It has a user, certificate
// authorities and no program.
func pushBase(address string) (reference string, err error) {
	authorities, err := os.ReadFile("/etc/ssl/certs/ca-certificates.crt")
	if err != nil {
		authorities = nil // the machine has none; nothing in the cluster calls the internet
	}
	return push(address+"/static:local", nil, map[string][]byte{
		"etc/passwd":                        []byte("nonroot:x:65532:65532:nonroot:/home/nonroot:/sbin/nologin\n"),
		"etc/ssl/certs/ca-certificates.crt": authorities,
	})
}

// push uploads an OCI index with one image, the form that ko expects of a base, and returns its reference by digest.
func push(reference string, entrypoint []string, files map[string][]byte) (digest string, err error) {
	tag, err := name.NewTag(reference)
	if err != nil {
		return "", err
	}
	image, err := image(entrypoint, files)
	if err != nil {
		return "", err
	}
	index := mutate.AppendManifests(mutate.IndexMediaType(empty.Index, types.OCIImageIndex), mutate.IndexAddendum{
		Add: image, Descriptor: v1.Descriptor{Platform: &v1.Platform{OS: "linux", Architecture: runtime.GOARCH}}})
	if err := remote.WriteIndex(tag, index); err != nil {
		return "", err
	}
	hash, err := index.Digest()
	return tag.Repository.Digest(hash.String()).String(), err
}

func image(entrypoint []string, files map[string][]byte) (v1.Image, error) {
	var archive bytes.Buffer
	w := tar.NewWriter(&archive)
	for path, content := range files {
		if err := w.WriteHeader(
			&tar.Header{Name: path, Mode: 0o755, Size: int64(len(content)), Typeflag: tar.TypeReg},
		); err != nil {
			return nil, err
		}
		if _, err := w.Write(content); err != nil {
			return nil, err
		}
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	layer, err := tarball.LayerFromOpener(
		func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(archive.Bytes())), nil },
		tarball.WithMediaType(types.OCILayer),
	)
	if err != nil {
		return nil, err
	}
	return imageOf(layer, entrypoint)
}

// imageOf returns an image of one layer for this machine's architecture and the user nonroot.
func imageOf(layer v1.Layer, entrypoint []string) (v1.Image, error) {
	image := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
	made, err := mutate.AppendLayers(image, layer)
	if err != nil {
		return nil, err
	}
	config, err := made.ConfigFile()
	if err != nil {
		return nil, err
	}
	config.OS, config.Architecture = "linux", runtime.GOARCH
	config.Config.Env = []string{"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"}
	config.Config.User, config.Config.Entrypoint = nonroot, entrypoint
	return mutate.ConfigFile(made, config)
}
