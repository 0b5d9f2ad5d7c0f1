package blob

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"strings"
	"time"

	"gocloud.dev/blob"
	"gocloud.dev/blob/fileblob"
	"gocloud.dev/blob/s3blob"

	"github.com/labplatform/labplatform/pkg/clock"
)

// Suffixes of files that the folder store keeps beside an object.
const (
	temporary  = ".tmp"
	attributes = ".attrs"
)

// longestLink is the maximum validity of a link in S3.
const longestLink = 7 * 24 * time.Hour

// Bucket is a file store: a folder or an S3 bucket.
type Bucket struct {
	inner   *blob.Bucket
	base    string      // URL of the store without its query
	links   *linker     // nil for S3, which signs its own links
	durable *durability // nil for S3, which responds only after an object is stored
}

// Open opens the store of cfg. It creates a missing folder. It sends no request to S3, so that a service can start
// while S3 is unavailable. c decides when links expire. The caller closes the bucket.
func Open(ctx context.Context, cfg Config, c clock.Clock) (*Bucket, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	store, err := url.Parse(cfg.URL)
	if err != nil {
		return nil, fmt.Errorf("open the file store: %w", err)
	}
	b := &Bucket{
		base: (&url.URL{Scheme: store.Scheme, Host: store.Host, Path: strings.TrimSuffix(store.Path, "/")}).String(),
	}
	if store.Scheme == "s3" {
		b.inner, err = openS3(ctx, store)
	} else {
		b.links = &linker{base: cfg.PublicURL, keys: cfg.SigningSecret.Keys(), clock: c}
		b.inner, b.durable, err = openFolder(store.Path)
	}
	if err != nil {
		return nil, fmt.Errorf("open the file store: %w", err)
	}
	return b, nil
}

const folderMode = 0o700 // for the owner only, because the files belong to patients

func openFolder(root string) (*blob.Bucket, *durability, error) {
	durable := &durability{root: root, sync: (*os.File).Sync}
	if err := durable.makeRoot(root); err != nil {
		return nil, nil, err
	}
	bucket, err := fileblob.OpenBucket(root, &fileblob.Options{
		DirFileMode: folderMode, NoTempDir: true,
		// Otherwise the driver writes a second file beside each one and computes its MD5, a third of an upload's CPU time.
		Metadata: fileblob.MetadataDontWrite,
	})
	return bucket, durable, err
}

// openS3 opens an S3 bucket. Stored objects are encrypted unless the URL turns that off.
func openS3(ctx context.Context, store *url.URL) (*blob.Bucket, error) {
	query := store.Query()
	switch query.Get("ssetype") {
	case "":
		query.Set("ssetype", "AES256")
	case "none":
		query.Del("ssetype")
	}
	opened := *store
	opened.RawQuery = query.Encode()
	return new(s3blob.URLOpener).OpenBucketURL(ctx, &opened)
}

// Ready returns an error if the store does not respond.
func (b *Bucket) Ready(ctx context.Context) error {
	_, err := b.inner.Exists(ctx, "ready")
	return storeError(err)
}

// Close releases the resources of the store.
func (b *Bucket) Close() error { return b.inner.Close() }
