// Package objects gives external editing access to the platform's file store.
package objects

import (
	"context"
	"errors"
	"io"
	"time"

	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/services/externaledit/internal/store/blob"
)

// Store reads and writes files of laboratories, and reads files of the platform.
type Store struct {
	bucket    *blob.Bucket
	expiry    time.Duration
	transient bool // a loss of power may lose the names of stored objects
}

// New returns a store over bucket, which the caller closes. Its links are valid for expiry.
func New(bucket *blob.Bucket, expiry time.Duration) *Store {
	return &Store{bucket: bucket, expiry: expiry}
}

// Transient returns the store for objects that can be made again: a loss of power may lose them.
func (s *Store) Transient() *Store {
	return &Store{bucket: s.bucket, expiry: s.expiry, transient: true}
}

// Key returns the key of a name in the laboratory's folder.
func (s *Store) Key(scope authn.LabScope, name string) string { return s.bucket.Lab(scope).Key(name) }

// Parse returns the key that a URL or a key names, or an error if text is neither.
func (s *Store) Parse(text string) (string, error) { return s.bucket.Key(text) }

// URL returns the name of an object in rows and responses.
func (s *Store) URL(key string) string { return s.bucket.URL(key) }

// Size returns the size in bytes of a file of the laboratory or of the platform; -1 without one.
func (s *Store) Size(ctx context.Context, scope authn.LabScope, key string) (int64, error) {
	found, err := s.reader(scope, key).Attributes(ctx, key)
	if errors.Is(err, blob.ErrNotFound) {
		return -1, nil
	}
	return found.Size, err
}

// reader returns a reader of the laboratory's files if the key is one of them, otherwise of the platform's files.
func (s *Store) reader(scope authn.LabScope, key string) blob.Reader {
	if lab := s.bucket.Lab(scope); lab.Owns(key) {
		return lab.Reader
	}
	return s.bucket.Shared().Reader
}

// Link returns a download link for a file of the laboratory or of the platform, or blob.ErrNotFound for a file of
// another laboratory.
func (s *Store) Link(ctx context.Context, scope authn.LabScope, key string) (string, error) {
	return s.reader(scope, key).SignedURL(ctx, key, s.expiry)
}

// Put stores the content of source and returns its size.
func (s *Store) Put(
	ctx context.Context, scope authn.LabScope, key, contentType string, source io.Reader,
) (int64, error) {
	if s.transient {
		return s.bucket.Lab(scope).PutTransient(ctx, key, contentType, source)
	}
	return s.bucket.Lab(scope).Put(ctx, key, contentType, source)
}

// Open returns length bytes, from offset on, of a file of the laboratory or of the platform.
func (s *Store) Open(
	ctx context.Context, scope authn.LabScope, key string, offset, length int64,
) (io.ReadCloser, error) {
	return s.reader(scope, key).Open(ctx, key, offset, length)
}

// Delete removes a file of the laboratory.
func (s *Store) Delete(ctx context.Context, scope authn.LabScope, key string) error {
	return s.bucket.Lab(scope).Delete(ctx, key)
}
