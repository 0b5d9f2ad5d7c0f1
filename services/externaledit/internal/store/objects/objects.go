// Package objects is the platform's file store as external editing uses it.
package objects

import (
	"context"
	"errors"
	"io"
	"time"

	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/services/externaledit/internal/store/blob"
)

// Store implements editing.Files and upload.Files over a bucket.
type Store struct {
	bucket    *blob.Bucket
	expiry    time.Duration
	transient bool // a loss of power may lose the names of stored objects
}

// New returns the store; its links last for expiry. The bucket stays the caller's to close.
func New(bucket *blob.Bucket, expiry time.Duration) *Store {
	return &Store{bucket: bucket, expiry: expiry}
}

// Transient returns the store for objects that can be made again: a loss of power may lose them.
func (s *Store) Transient() *Store {
	return &Store{bucket: s.bucket, expiry: s.expiry, transient: true}
}

// Key returns the laboratory's key of a name.
func (s *Store) Key(scope authn.LabScope, name string) string { return s.bucket.Lab(scope).Key(name) }

// Parse returns the key that a URL or a key names.
func (s *Store) Parse(text string) (string, error) { return s.bucket.Key(text) }

// URL returns how rows and answers name the object.
func (s *Store) URL(key string) string { return s.bucket.URL(key) }

// Size returns the bytes of a file of the laboratory or of the platform, -1 without one.
func (s *Store) Size(ctx context.Context, scope authn.LabScope, key string) (int64, error) {
	found, err := s.reader(scope, key).Attributes(ctx, key)
	if errors.Is(err, blob.ErrNotFound) {
		return -1, nil
	}
	return found.Size, err
}

// reader reads the files of the laboratory or those of the platform, whichever the key is of.
func (s *Store) reader(scope authn.LabScope, key string) blob.Reader {
	if lab := s.bucket.Lab(scope); lab.Owns(key) {
		return lab.Reader
	}
	return s.bucket.Shared().Reader
}

// Link returns a download link of a file of the laboratory or of the platform; blob.ErrNotFound for another
// laboratory's.
func (s *Store) Link(ctx context.Context, scope authn.LabScope, key string) (string, error) {
	return s.reader(scope, key).SignedURL(ctx, key, s.expiry)
}

// Put stores what source holds.
func (s *Store) Put(
	ctx context.Context, scope authn.LabScope, key, contentType string, source io.Reader,
) (int64, error) {
	if s.transient {
		return s.bucket.Lab(scope).PutTransient(ctx, key, contentType, source)
	}
	return s.bucket.Lab(scope).Put(ctx, key, contentType, source)
}

// Open returns a part of a file of the laboratory or of the platform.
func (s *Store) Open(
	ctx context.Context, scope authn.LabScope, key string, offset, length int64,
) (io.ReadCloser, error) {
	return s.reader(scope, key).Open(ctx, key, offset, length)
}

// Delete removes an object.
func (s *Store) Delete(ctx context.Context, scope authn.LabScope, key string) error {
	return s.bucket.Lab(scope).Delete(ctx, key)
}
