package blob

import (
	"context"
	"errors"
	"io"
	"strconv"
	"strings"
	"sync"
	"time"

	"gocloud.dev/blob"
	"gocloud.dev/gcerrors"

	"github.com/labplatform/labplatform/pkg/apperr"
	"github.com/labplatform/labplatform/pkg/authn"
)

// ErrNotFound is returned if the laboratory has no such file.
var ErrNotFound = apperr.New(apperr.NotFound, "FILE_NOT_FOUND", "there is no such file")

// Attributes is the metadata of an object.
type Attributes struct {
	Key         string
	Size        int64
	ContentType string // empty in results of List
	Modified    time.Time
}

// Lab gives access to the files of one laboratory. Keys outside of its folder are not found.
type Lab struct {
	Reader
	prefix string
}

// Shared gives read access to the files that belong to no laboratory. Operators put them there.
type Shared struct{ Reader }

// Reader reads files. Keys outside of its part of the store are not found.
type Reader struct {
	bucket *Bucket
	admits func(key string) bool
}

// Lab returns access to the files of the laboratory.
func (b *Bucket) Lab(scope authn.LabScope) Lab {
	prefix := labFolder + strconv.FormatInt(scope.LabID(), 10) + "/"
	return Lab{
		prefix: prefix,
		Reader: Reader{bucket: b, admits: func(key string) bool { return strings.HasPrefix(key, prefix) }},
	}
}

// Shared returns access to the files of no laboratory.
func (b *Bucket) Shared() Shared {
	return Shared{Reader{bucket: b, admits: func(key string) bool { return !strings.HasPrefix(key, labFolder) }}}
}

// Key returns the key of a name in the laboratory's folder, such as reports/7001/3.docx.
func (l Lab) Key(name string) string { return l.prefix + name }

// Owns reports whether the key is valid and this reader may read it.
func (r Reader) Owns(key string) bool { return checkKey(key) == nil && r.admits(key) }

func (r Reader) check(key string) error {
	if err := checkKey(key); err != nil {
		return err
	}
	if !r.admits(key) {
		return ErrNotFound
	}
	return nil
}

// Open returns length bytes of the object from offset on; -1 means up to its end. The caller closes the reader.
func (r Reader) Open(ctx context.Context, key string, offset, length int64) (io.ReadCloser, error) {
	if err := r.check(key); err != nil {
		return nil, err
	}
	reader, err := r.bucket.inner.NewRangeReader(ctx, key, offset, length, nil)
	if err != nil {
		return nil, storeError(err)
	}
	return reader, nil
}

// Attributes returns the metadata of an object, or ErrNotFound.
func (r Reader) Attributes(ctx context.Context, key string) (Attributes, error) {
	if err := r.check(key); err != nil {
		return Attributes{}, err
	}
	found, err := r.bucket.inner.Attributes(ctx, key)
	if err != nil {
		return Attributes{}, storeError(err)
	}
	return Attributes{
		Key:         key,
		Size:        found.Size,
		ContentType: r.bucket.contentType(key, found.ContentType),
		Modified:    found.ModTime,
	}, nil
}

// SignedURL returns a link with which anyone may download the object for the duration expiry, at most seven days. It
// does not check that the object exists.
func (r Reader) SignedURL(ctx context.Context, key string, expiry time.Duration) (string, error) {
	if err := r.check(key); err != nil {
		return "", err
	}
	if expiry <= 0 || expiry > longestLink {
		return "", errors.New("sign a link: it may last up to seven days")
	}
	if r.bucket.links != nil {
		return r.bucket.links.sign(key, expiry), nil
	}
	link, err := r.bucket.inner.SignedURL(ctx, key, &blob.SignedURLOptions{Expiry: expiry})
	return link, storeError(err)
}

// Put stores the content of source and returns its size. Once it has returned, the object survives a power failure. If
// source fails or ctx ends, the key has no object or the previous one. If the store does not confirm, the object may or
// may not be stored, and Put may be repeated.
func (l Lab) Put(ctx context.Context, key, contentType string, source io.Reader) (int64, error) {
	return l.put(ctx, l.bucket.durable.begin(key), contentType, source)
}

// PutTransient is Put for an object that can be made again: after a loss of power it is complete, or missing.
func (l Lab) PutTransient(ctx context.Context, key, contentType string, source io.Reader) (int64, error) {
	w := l.bucket.durable.begin(key)
	w.transient = true
	return l.put(ctx, w, contentType, source)
}

func (l Lab) put(ctx context.Context, w *writing, contentType string, source io.Reader) (int64, error) {
	if err := l.check(w.key); err != nil {
		return 0, err
	}
	ctx, abandon := context.WithCancel(ctx)
	defer abandon()
	writer, err := l.bucket.writer(ctx, w, contentType)
	if err != nil {
		return 0, storeError(err)
	}
	watched := &watchedSource{source: source}
	size, err := copyTo(writer, watched)
	if err == nil {
		err = w.content()
	}
	if err != nil {
		abandon() // otherwise Close would store the incomplete object
		_ = writer.Close()
		if watched.err != nil {
			return 0, watched.err
		}
		return 0, storeError(err)
	}
	if err := writer.Close(); err != nil {
		return 0, storeError(err)
	}
	return size, storeError(w.name())
}

// copyBytes is the size of the buffer between a source and the store.
const copyBytes = 256 << 10

var copyBuffers = sync.Pool{New: func() any { return new([copyBytes]byte) }}

// copyTo copies source to to with a pooled buffer.
func copyTo(to io.Writer, source io.Reader) (int64, error) {
	buffer := copyBuffers.Get().(*[copyBytes]byte) // the pool contains this type only
	defer copyBuffers.Put(buffer)
	// Hides the writer's ReadFrom, which would return errors of the source from Close, mixed with those of the store.
	return io.CopyBuffer(struct{ io.Writer }{to}, source, buffer[:])
}

// watchedSource stores the read error of a source, to distinguish it from a failure of the store.
type watchedSource struct {
	source io.Reader
	err    error
}

var _ io.Reader = (*watchedSource)(nil)

func (s *watchedSource) Read(p []byte) (int, error) {
	n, err := s.source.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		s.err = err
	}
	return n, err
}

// Delete removes the object and, in a folder, temporary files of crashed writers. A missing object is ignored. In S3, a
// rule of the bucket removes unfinished uploads.
func (l Lab) Delete(ctx context.Context, key string) error {
	if err := l.check(key); err != nil {
		return err
	}
	if err := l.deleteObject(ctx, key); err != nil || l.bucket.links == nil {
		return err
	}
	if err := l.deleteLeftovers(ctx, key); err != nil {
		return err
	}
	return storeError(l.bucket.durable.deleted(key))
}

// deleteLeftovers deletes temporary files that crashed writers of the object left.
func (l Lab) deleteLeftovers(ctx context.Context, key string) error {
	leftovers := l.bucket.inner.List(&blob.ListOptions{Prefix: key + "."})
	for {
		object, err := leftovers.Next(ctx)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return storeError(err)
		}
		if !strings.HasSuffix(object.Key, temporary) {
			continue // belongs to another object
		}
		if err := l.deleteObject(ctx, object.Key); err != nil {
			return err
		}
	}
}

func (l Lab) deleteObject(ctx context.Context, key string) error {
	if err := l.bucket.inner.Delete(ctx, key); gcerrors.Code(err) != gcerrors.NotFound {
		return storeError(err)
	}
	return nil
}

// List calls visit for each object of the laboratory whose name, in the sense of Key, begins with name, in the order of
// the keys. An error of visit stops it and is returned.
func (l Lab) List(ctx context.Context, name string, visit func(Attributes) error) error {
	objects := l.bucket.inner.List(&blob.ListOptions{Prefix: l.prefix + name})
	for {
		object, err := objects.Next(ctx)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return storeError(err)
		}
		if l.bucket.links != nil && strings.HasSuffix(object.Key, temporary) {
			continue // a temporary file of an active or crashed writer
		}
		if err := visit(Attributes{Key: object.Key, Size: object.Size, Modified: object.ModTime}); err != nil {
			return err
		}
	}
}

// storeError distinguishes a missing object and a cancelled caller from a failure of the store.
func storeError(err error) error {
	switch {
	case err == nil:
		return nil
	case gcerrors.Code(err) == gcerrors.NotFound:
		return ErrNotFound
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return err
	}
	return apperr.New(apperr.Unavailable, "FILE_STORE_UNAVAILABLE", "the file store does not answer: try again in a moment").
		WithCause(err)
}
