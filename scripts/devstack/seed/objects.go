package seed

import (
	"context"
	"errors"
	"fmt"
	"mime"
	"net/url"
	"path"

	"gocloud.dev/blob"
	_ "gocloud.dev/blob/fileblob" // file:// stores
	_ "gocloud.dev/blob/s3blob"   // s3:// stores
)

// fileTypes maps extensions to the media types of the platform's files, because the machine's own table may lack them.
var fileTypes = map[string]string{
	".docx": "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
	".pdf":  "application/pdf",
}

// objectStore opens the store with the services' driver, which in a folder writes a file's media type next to it.
func objectStore(ctx context.Context, storeURL string) (*blob.Bucket, error) {
	location, err := url.Parse(storeURL)
	if err != nil {
		return nil, fmt.Errorf("object store: %w", err)
	}
	if location.Scheme == "file" {
		query := location.Query()
		query.Set("create_dir", "true")
		query.Set("no_tmp_dir", "true") // a temporary file elsewhere could not be renamed across file systems
		location.RawQuery = query.Encode()
	}
	bucket, err := blob.OpenBucket(ctx, location.String())
	if err != nil {
		return nil, fmt.Errorf("object store: %w", err)
	}
	return bucket, nil
}

// objectWriter opens the store, so that a wrong URL is found before anything is written. The returned function writes
// the objects and closes the store. Without objects the store is not opened.
func objectWriter(ctx context.Context, storeURL string, objects []Object) (write func() error, err error) {
	if len(objects) == 0 {
		return func() error { return nil }, nil
	}
	bucket, err := objectStore(ctx, storeURL)
	if err != nil {
		return nil, err
	}
	return func() error { return errors.Join(writeObjects(ctx, bucket, objects), bucket.Close()) }, nil
}

func writeObjects(ctx context.Context, bucket *blob.Bucket, objects []Object) error {
	for _, object := range objects {
		options := &blob.WriterOptions{ContentType: fileType(object.Key)}
		if err := bucket.WriteAll(ctx, object.Key, object.Content, options); err != nil {
			return fmt.Errorf("object %s: %w", object.Key, err)
		}
	}
	return nil
}

// fileType returns the media type by the extension of key, or "" to let the store detect it from the content.
func fileType(key string) string {
	extension := path.Ext(key)
	if known, ok := fileTypes[extension]; ok {
		return known
	}
	return mime.TypeByExtension(extension)
}
