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

// The folder store's own files beside an object.
const (
	temporary  = ".tmp"
	attributes = ".attrs"
)

// longestLink is S3's limit.
const longestLink = 7 * 24 * time.Hour

// Bucket is the store.
type Bucket struct {
	inner   *blob.Bucket
	base    string      // the URL of the store without its query
	links   *linker     // nil for S3, which signs its own
	durable *durability // nil for S3, which stores before it answers
}

// Open opens the store of cfg. A folder is made when it is absent; S3 is not asked, so that a service starts while it
// is unavailable. c tells when links expire. The caller closes the bucket.
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

const folderMode = 0o700 // files of patients

func openFolder(root string) (*blob.Bucket, *durability, error) {
	durable := &durability{root: root, sync: (*os.File).Sync}
	if err := durable.makeRoot(root); err != nil {
		return nil, nil, err
	}
	bucket, err := fileblob.OpenBucket(root, &fileblob.Options{
		DirFileMode: folderMode, NoTempDir: true,
		// Or each file gets a second one beside it, and is hashed with MD5 for that: a third of an upload's CPU time.
		Metadata: fileblob.MetadataDontWrite,
	})
	return bucket, durable, err
}

// openS3 encrypts what it stores unless the URL says otherwise.
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

// Ready returns nil when the store answers.
func (b *Bucket) Ready(ctx context.Context) error {
	_, err := b.inner.Exists(ctx, "ready")
	return storeError(err)
}

// Close frees what the store holds.
func (b *Bucket) Close() error { return b.inner.Close() }
