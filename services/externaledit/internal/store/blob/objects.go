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

// ErrNotFound reports that this laboratory has no such file.
var ErrNotFound = apperr.New(apperr.NotFound, "FILE_NOT_FOUND", "there is no such file")

// Attributes is what the store knows of an object beside its content.
type Attributes struct {
	Key         string
	Size        int64
	ContentType string // not in a list
	Modified    time.Time
}

// Lab is the files of one laboratory. A key outside of its folder is not found.
type Lab struct {
	Reader
	prefix string
}

// Shared is the files that belong to no laboratory. They are put there by operators and are only read.
type Shared struct{ Reader }

// Reader reads the files that it may.
type Reader struct {
	bucket *Bucket
	admits func(key string) bool
}

// Lab returns the files of the laboratory.
func (b *Bucket) Lab(scope authn.LabScope) Lab {
	prefix := labFolder + strconv.FormatInt(scope.LabID(), 10) + "/"
	return Lab{
		prefix: prefix,
		Reader: Reader{bucket: b, admits: func(key string) bool { return strings.HasPrefix(key, prefix) }},
	}
}

// Shared returns the files of no laboratory.
func (b *Bucket) Shared() Shared {
	return Shared{Reader{bucket: b, admits: func(key string) bool { return !strings.HasPrefix(key, labFolder) }}}
}

// Key returns the laboratory's key of a name, as reports/7001/3.docx.
func (l Lab) Key(name string) string { return l.prefix + name }

// Owns reports whether the key is in the folder.
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

// Open returns the object's bytes from offset on, length of them or with -1 all. The caller closes it.
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

// Attributes returns ErrNotFound when there is no such object.
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

// SignedURL returns a link with which anybody may download the object until expiry has passed, at most seven days. It
// does not ask whether the object exists.
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

// Put stores what source holds and returns its size; when it has, the object survives a loss of power. When source
// fails or ctx ends, there is no object, or still the previous one. A store that does not confirm may have it or not;
// then Put may be repeated.
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
		abandon() // or Close would store the part that was read
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

// copyBytes is how much is on its way from a source to the store at a time.
const copyBytes = 256 << 10

var copyBuffers = sync.Pool{New: func() any { return new([copyBytes]byte) }}

// copyTo writes what source holds.
func copyTo(to io.Writer, source io.Reader) (int64, error) {
	buffer := copyBuffers.Get().(*[copyBytes]byte) // the pool's own
	defer copyBuffers.Put(buffer)
	// The plain Write of the writer: its ReadFrom leaves the errors of the source to Close, among the store's.
	return io.CopyBuffer(struct{ io.Writer }{to}, source, buffer[:])
}

// watchedSource remembers why reading ended, to tell it from a failure of the store.
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

// Delete removes the object, and in a folder what writers of it left that died; what is not there is not an error. S3
// forgets unfinished uploads by a rule of the bucket.
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

// deleteLeftovers deletes what writers of the object left that died.
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
			continue // another object
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

// List calls visit for each object of the laboratory whose name, as in Key, begins so, in the order of the keys. An
// error of visit ends it.
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
			continue // of a writer at work, or of one that died
		}
		if err := visit(Attributes{Key: object.Key, Size: object.Size, Modified: object.ModTime}); err != nil {
			return err
		}
	}
}

// storeError tells a missing object and the caller's own end from a store that fails.
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
