package registry

import (
	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// PushPrograms makes an image from an archive of programs and pushes it under each reference.
func PushPrograms(archive string, references []string) error {
	layer, err := tarball.LayerFromFile(archive, tarball.WithMediaType(types.OCILayer))
	if err != nil {
		return err
	}
	image, err := imageOf(layer, nil)
	if err != nil {
		return err
	}
	for _, reference := range references {
		tag, err := name.NewTag(reference, name.Insecure)
		if err != nil {
			return err
		}
		if err := remote.Write(tag, image); err != nil {
			return err
		}
	}
	return nil
}
