package blob_test

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"sync/atomic"
	"testing"
	"time"

	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"

	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/pkg/clock"
	"github.com/labplatform/labplatform/services/externaledit/internal/store/blob"
)

// TestMain sets the credentials of the test server for the SDK.
func TestMain(m *testing.M) {
	for name, value := range map[string]string{"AWS_ACCESS_KEY_ID": "id", "AWS_SECRET_ACCESS_KEY": "secret", "AWS_EC2_METADATA_DISABLED": "true"} {
		if err := os.Setenv(name, value); err != nil {
			panic(err)
		}
	}
	os.Exit(m.Run())
}

var now = time.Date(2026, 11, 20, 8, 0, 0, 0, time.UTC)

const secret = "0123456789abcdef0123456789abcdef"

func folderConfig(t *testing.T) blob.Config {
	t.Helper()
	return blob.Config{URL: (&url.URL{Scheme: "file", Path: t.TempDir(), RawQuery: "no_tmp_dir=true"}).String(), SigningSecret: secret,
		PublicURL: "http://127.0.0.1:8002/files"}
}

func open(t *testing.T, cfg blob.Config, c clock.Clock) *blob.Bucket {
	t.Helper()
	b, err := blob.Open(t.Context(), cfg, c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	})
	return b
}

func openFolder(t *testing.T) *blob.Bucket {
	t.Helper()
	return open(t, folderConfig(t), clock.Fixed(now))
}

// s3 is a server with S3's protocol that can inject faults.
type s3 struct {
	*httptest.Server
	inner http.Handler
	fault atomic.Pointer[func(w http.ResponseWriter, r *http.Request, inner http.Handler)]
	put   atomic.Pointer[http.Header] // headers of the last PUT
}

func startS3(t *testing.T) *s3 {
	t.Helper()
	backend := s3mem.New()
	if err := backend.CreateBucket("files"); err != nil {
		t.Fatal(err)
	}
	s := &s3{inner: gofakes3.New(backend, gofakes3.WithLogger(gofakes3.DiscardLog())).Server()}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPut {
			header := r.Header.Clone()
			s.put.Store(&header)
		}
		if fault := s.fault.Load(); fault != nil {
			(*fault)(w, r, s.inner)
			return
		}
		s.inner.ServeHTTP(w, r)
	}))
	t.Cleanup(s.Close)
	return s
}

func (s *s3) url() string {
	return "s3://files?region=ap-south-1&use_path_style=true&endpoint=" + url.QueryEscape(s.URL)
}

func (s *s3) fail(fault func(w http.ResponseWriter, r *http.Request, inner http.Handler)) {
	s.fault.Store(&fault)
}

func (s *s3) heal() { s.fault.Store(nil) }

// stores runs test on each of the two stores.
func stores(t *testing.T, test func(t *testing.T, b *blob.Bucket)) {
	t.Run("folder", func(t *testing.T) {
		t.Parallel()
		test(t, openFolder(t))
	})
	t.Run("s3", func(t *testing.T) {
		t.Parallel()
		test(t, open(t, blob.Config{URL: startS3(t).url()}, clock.Fixed(now)))
	})
}

func lab(t *testing.T, b *blob.Bucket, id int64) blob.Lab {
	t.Helper()
	scope, err := authn.Principal{Kind: authn.Session, LabID: id}.Scope(0)
	if err != nil {
		t.Fatal(err)
	}
	return b.Lab(scope)
}

func read(t *testing.T, r blob.Reader, key string, offset, length int64) string {
	t.Helper()
	content, err := r.Open(t.Context(), key, offset, length)
	if err != nil {
		t.Fatal(err)
	}
	defer content.Close()
	text, err := io.ReadAll(content)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func keys(t *testing.T, l blob.Lab, name string) []string {
	t.Helper()
	found := []string{}
	if err := l.List(t.Context(), name, func(a blob.Attributes) error { found = append(found, fmt.Sprint(a.Key, " ", a.Size)); return nil }); err != nil {
		t.Fatal(err)
	}
	return found
}

var errSource = errors.New("the upload broke off")

// brokenSource is a reader that fails after some bytes.
type brokenSource struct{ left int }

func (s *brokenSource) Read(p []byte) (int, error) {
	if s.left == 0 {
		return 0, errSource
	}
	n := min(s.left, len(p))
	s.left -= n
	return n, nil
}
