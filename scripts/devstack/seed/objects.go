package seed

import (
	"fmt"
	"net/url"
	"os"
	"path/filepath"
)

// objectDirectory returns the directory behind a file:// URL. Objects in another store cannot be seeded from here.
func objectDirectory(blobURL string, objects []Object) (string, error) {
	if len(objects) == 0 {
		return "", nil
	}
	location, err := url.Parse(blobURL)
	if err != nil {
		return "", fmt.Errorf("object store URL: %w", err)
	}
	if location.Scheme != "file" {
		return "", fmt.Errorf("objects go only into a file:// store, and this stack's is %s://: put them there with its own tool", location.Scheme)
	}
	return filepath.FromSlash(location.Path), nil
}

func writeObjects(directory string, objects []Object) error {
	for _, object := range objects {
		path := filepath.Join(directory, filepath.FromSlash(object.Key))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return fmt.Errorf("object %s: %w", object.Key, err)
		}
		if err := os.WriteFile(path+".tmp", object.Content, 0o644); err != nil {
			return fmt.Errorf("object %s: %w", object.Key, err)
		}
		if err := os.Rename(path+".tmp", path); err != nil {
			return fmt.Errorf("object %s: %w", object.Key, err)
		}
	}
	return nil
}
