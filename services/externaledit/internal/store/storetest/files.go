package storetest

import (
	"bytes"
	"context"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/services/externaledit/internal/editing"
	"github.com/labplatform/labplatform/services/externaledit/internal/store/blob"
	"github.com/labplatform/labplatform/services/externaledit/internal/upload"
)

const base = "mem://files"

// Files is a file store in memory.
type Files struct {
	mu      sync.Mutex
	objects map[string][]byte // guarded by mu
}

var (
	_ editing.Files = (*Files)(nil)
	_ upload.Files  = (*Files)(nil)
)

// NewFiles returns an empty store.
func NewFiles() *Files { return &Files{objects: map[string][]byte{}} }

// Keys returns the keys of all objects, sorted.
func (f *Files) Keys() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Sorted(maps.Keys(f.objects))
}

// Content returns the object that a URL names; nil if there is none.
func (f *Files) Content(url string) []byte {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.objects[strings.TrimPrefix(url, base+"/")]
}

func prefix(scope authn.LabScope) string {
	return "labs/" + strconv.FormatInt(scope.LabID(), 10) + "/"
}

func (f *Files) Key(scope authn.LabScope, name string) string { return prefix(scope) + name }

func (f *Files) Parse(text string) (string, error) {
	key := strings.TrimPrefix(text, base+"/")
	if key == "" || strings.Contains(key, "..") || strings.Contains(key, "://") {
		return "", blob.ErrKeyInvalid
	}
	return key, nil
}

func (f *Files) URL(key string) string { return base + "/" + key }

func (f *Files) Owns(scope authn.LabScope, key string) bool {
	return strings.HasPrefix(key, prefix(scope))
}

func (f *Files) Size(_ context.Context, scope authn.LabScope, key string) (int64, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	content, ok := f.objects[key]
	if !ok || (!f.Owns(scope, key) && strings.HasPrefix(key, "labs/")) {
		return -1, nil
	}
	return int64(len(content)), nil
}

// Add stores an object.
func (f *Files) Add(key string, content []byte) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.objects[key] = content
}

func (f *Files) Link(_ context.Context, scope authn.LabScope, key string) (string, error) {
	if strings.HasPrefix(key, "labs/") && !f.Owns(scope, key) {
		return "", blob.ErrNotFound
	}
	return "https://link/" + key, nil
}

func (f *Files) Put(ctx context.Context, _ authn.LabScope, key, _ string, source io.Reader) (int64, error) {
	content, err := io.ReadAll(source)
	if err != nil {
		return 0, err
	}
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.objects[key] = content
	return int64(len(content)), nil
}

func (f *Files) Open(_ context.Context, _ authn.LabScope, key string, offset, length int64) (io.ReadCloser, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	content, ok := f.objects[key]
	if !ok {
		return nil, blob.ErrNotFound
	}
	return io.NopCloser(bytes.NewReader(content[offset:min(offset+length, int64(len(content)))])), nil
}

func (f *Files) Delete(_ context.Context, _ authn.LabScope, key string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.objects, key)
	return nil
}
