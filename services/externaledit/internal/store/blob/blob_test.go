package blob_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/labplatform/labplatform/pkg/apperr"
	"github.com/labplatform/labplatform/pkg/clock"
	"github.com/labplatform/labplatform/services/externaledit/internal/store/blob"
)

const docx = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"

func put(t *testing.T, l blob.Lab, name, content string) string {
	t.Helper()
	key := l.Key(name)
	size, err := l.Put(t.Context(), key, docx, strings.NewReader(content))
	if err != nil || size != int64(len(content)) {
		t.Fatalf("put %s: %d bytes, error %v", key, size, err)
	}
	return key
}

func TestAFileIsStoredReadListedAndDeleted(t *testing.T) {
	t.Parallel()
	stores(t, func(t *testing.T, b *blob.Bucket) {
		l := lab(t, b, 12)
		key := put(t, l, "reports/7001/1 final.docx", "0123456789")
		put(t, l, "reports/7001/empty.docx", "")
		put(t, l, "reports/7002/1.docx", "x")
		put(t, lab(t, b, 120), "reports/7001/1.docx", "of another laboratory")
		if got := read(t, l.Reader, key, 0, -1); got != "0123456789" {
			t.Errorf("content %q", got)
		}
		if got := read(t, l.Reader, key, 3, 4); got != "3456" {
			t.Errorf("range %q", got)
		}
		found, err := l.Attributes(t.Context(), key)
		if err != nil || found.Size != 10 || found.ContentType != docx {
			t.Errorf("attributes %+v, error %v", found, err)
		}
		if diff := cmp.Diff([]string{"labs/12/reports/7001/1 final.docx 10", "labs/12/reports/7001/empty.docx 0"}, keys(t, l, "reports/7001/")); diff != "" {
			t.Error(diff)
		}
		for range 2 { // deleting a missing object is not an error
			if err := l.Delete(t.Context(), key); err != nil {
				t.Error(err)
			}
		}
		if _, err := l.Open(t.Context(), key, 0, -1); !errors.Is(err, blob.ErrNotFound) {
			t.Errorf("after the delete: %v", err)
		}
		if _, err := l.Attributes(t.Context(), key); !errors.Is(err, blob.ErrNotFound) {
			t.Errorf("after the delete: %v", err)
		}
		if err := b.Ready(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

func TestALaboratoryReachesNoFileOfAnother(t *testing.T) {
	t.Parallel()
	stores(t, func(t *testing.T, b *blob.Bucket) {
		key := put(t, lab(t, b, 12), "a.docx", "secret")
		other := lab(t, b, 1)
		for _, reader := range []blob.Reader{other.Reader, b.Shared().Reader} {
			if _, err := reader.Open(t.Context(), key, 0, -1); !errors.Is(err, blob.ErrNotFound) {
				t.Errorf("open: %v", err)
			}
			if _, err := reader.SignedURL(t.Context(), key, time.Minute); !errors.Is(err, blob.ErrNotFound) {
				t.Errorf("sign: %v", err)
			}
			if reader.Owns(key) {
				t.Error("owns it")
			}
		}
		if _, err := other.Put(t.Context(), key, docx, strings.NewReader("overwritten")); !errors.Is(err, blob.ErrNotFound) {
			t.Errorf("put: %v", err)
		}
		if err := other.Delete(t.Context(), key); !errors.Is(err, blob.ErrNotFound) {
			t.Errorf("delete: %v", err)
		}
		if got := keys(t, other, ""); len(got) != 0 {
			t.Errorf("list: %v", got)
		}
		if _, err := other.Put(t.Context(), "templates/t.docx", docx, strings.NewReader("x")); !errors.Is(err, blob.ErrNotFound) {
			t.Errorf("a shared file was written: %v", err)
		}
	})
}

func TestAKeyCannotLeaveItsFolder(t *testing.T) {
	t.Parallel()
	l := lab(t, openFolder(t), 12)
	for _, key := range []string{"", "/", ".", "..", "labs/12/../13/a", "/labs/12/a", "labs/12/", "labs/12//a", `labs/12/..\..\a`, "labs/12/a\x00", "labs/12/%2e%2e/a",
		"labs/12/a\n", "labs/12/\xff", "labs/12/" + strings.Repeat("a", 512), "labs/12/a.attrs", "labs/12/a.tmp", "labs/12/a?b", "labs/12/a#b"} {
		if _, err := l.Put(t.Context(), key, docx, strings.NewReader("x")); !errors.Is(err, blob.ErrKeyInvalid) {
			t.Errorf("%q: got %v, want blob.ErrKeyInvalid", key, err)
		}
	}
}

func TestURLsAndKeys(t *testing.T) {
	t.Parallel()
	for _, cfg := range []blob.Config{
		{URL: "file:///tmp/lab%20objects?no_tmp_dir=true", SigningSecret: secret, PublicURL: "http://h/f"},
		{URL: "s3://files?region=ap-south-1"},
	} {
		b := open(t, cfg, clock.Fixed(now))
		base, _, _ := strings.Cut(cfg.URL, "?")
		if got := b.URL("labs/12/a.docx"); got != base+"/labs/12/a.docx" {
			t.Errorf("URL %q", got)
		}
		for text, want := range map[string]string{
			"labs/12/a.docx": "labs/12/a.docx", base + "/labs/12/a.docx": "labs/12/a.docx", base + "/labs/12/a%20b.docx": "labs/12/a b.docx", base + "/labs/12/a b.docx": "labs/12/a b.docx",
			b.URL("labs/12/ä.docx"): "labs/12/ä.docx",
		} {
			if got, err := b.Key(text); err != nil || got != want {
				t.Errorf("key of %q: %q, error %v", text, got, err)
			}
		}
		for _, text := range []string{"", base, base + "/", base + "/..%2f..%2fetc/passwd", base + "/%zz", base + "x/a", "http://elsewhere/a", "s3://other/a", "file:///etc/passwd",
			base + "/labs/12/a?versionId=1"} {
			if got, err := b.Key(text); !errors.Is(err, blob.ErrKeyInvalid) {
				t.Errorf("key of %q: %q, error %v", text, got, err)
			}
		}
	}
}

// The test checks that a failed Put leaves no object, or the previous one.
func TestAnUploadThatBreaksOffLeavesNothing(t *testing.T) {
	t.Parallel()
	const parts = 12 << 20 // large enough for several parts in S3
	stores(t, func(t *testing.T, b *blob.Bucket) {
		l := lab(t, b, 12)
		before := put(t, l, "before.docx", "before")
		for _, size := range []int{0, 10, parts} {
			if _, err := l.Put(t.Context(), before, docx, &brokenSource{left: size}); !errors.Is(err, errSource) {
				t.Errorf("a source that fails after %d bytes: %v", size, err)
			}
			ctx, cancel := context.WithCancel(t.Context())
			source := io.MultiReader(bytes.NewReader(make([]byte, size)), readerFunc(func([]byte) (int, error) { cancel(); return 0, io.EOF }))
			if _, err := l.Put(ctx, l.Key("canceled.docx"), docx, source); err == nil {
				t.Errorf("stored %d bytes although its context had ended", size)
			}
		}
		if diff := cmp.Diff([]string{"labs/12/before.docx 6"}, keys(t, l, "")); diff != "" {
			t.Error(diff)
		}
		if got := read(t, l.Reader, before, 0, -1); got != "before" {
			t.Errorf("the file became %q", got)
		}
	})
}

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

// A process that crashed while it wrote leaves a temporary file, which must not be listed.
func TestThePartOfADeadWriterIsNoFile(t *testing.T) {
	t.Parallel()
	cfg := folderConfig(t)
	l := lab(t, open(t, cfg, clock.Fixed(now)), 12)
	put(t, l, "a.docx", "x")
	folder, _, _ := strings.Cut(strings.TrimPrefix(cfg.URL, "file://"), "?")
	if err := os.WriteFile(filepath.Join(folder, "labs/12/b.docx.17f3.tmp"), []byte("half"), 0o600); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"labs/12/a.docx 1"}, keys(t, l, "")); diff != "" {
		t.Error(diff)
	}
}

func TestDeletingAFileRemovesWhatDeadWritersLeftOfIt(t *testing.T) {
	t.Parallel()
	cfg := folderConfig(t)
	l := lab(t, open(t, cfg, clock.Fixed(now)), 12)
	key := put(t, l, "a.pdf", "x")
	put(t, l, "a.pdf.txt", "x")
	folder, _, _ := strings.Cut(strings.TrimPrefix(cfg.URL, "file://"), "?")
	half := filepath.Join(folder, "labs/12/a.pdf.18ea537ba8d8c571.tmp")
	if err := os.WriteFile(half, []byte("half"), 0o600); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := l.Delete(t.Context(), key); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := os.Stat(half); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the part of a dead writer: %v", err)
	}
	if diff := cmp.Diff([]string{"labs/12/a.pdf.txt 1"}, keys(t, l, "")); diff != "" {
		t.Error(diff)
	}
}

func TestAFileOfSeveralPartsIsWhole(t *testing.T) {
	t.Parallel()
	stores(t, func(t *testing.T, b *blob.Bucket) {
		l := lab(t, b, 12)
		content := strings.Repeat("0123456789abcdef", 12<<16)
		if got := read(t, l.Reader, put(t, l, "big.pdf", content), 0, -1); got != content {
			t.Errorf("read %d bytes of %d", len(got), len(content))
		}
	})
}

func TestS3StoresEncrypted(t *testing.T) {
	t.Parallel()
	for query, want := range map[string]string{"": "AES256", "&ssetype=none": "", "&ssetype=aws:kms&kmskeyid=k": "aws:kms"} {
		server := startS3(t)
		put(t, lab(t, open(t, blob.Config{URL: server.url() + query}, clock.Fixed(now)), 12), "a.docx", "x")
		header := *server.put.Load()
		if got := header.Get("X-Amz-Server-Side-Encryption"); got != want || header.Get("Content-Type") != docx {
			t.Errorf("%q: encryption %q, type %q", query, got, header.Get("Content-Type"))
		}
	}
}

func TestS3sLinksAreItsOwn(t *testing.T) {
	t.Parallel()
	server := startS3(t)
	b := open(t, blob.Config{URL: server.url()}, clock.Fixed(now))
	link, err := lab(t, b, 12).SignedURL(t.Context(), put(t, lab(t, b, 12), "a.docx", "content"), time.Minute)
	if err != nil || !strings.HasPrefix(link, server.URL+"/files/labs/12/a.docx?") || !strings.Contains(link, "X-Amz-Expires=60") {
		t.Fatalf("link %q, error %v", link, err)
	}
	answer := get(t, b, http.MethodGet, "http://h/files?key=labs/12/a.docx")
	if answer.Code != http.StatusNotFound {
		t.Errorf("our handler answers %d", answer.Code)
	}
}

func TestS3ThatFails(t *testing.T) {
	t.Parallel()
	hijack := func(w http.ResponseWriter) {
		conn, _, err := http.NewResponseController(w).Hijack()
		if err == nil {
			conn.Close()
		}
	}
	for name, c := range map[string]struct {
		fault  func(w http.ResponseWriter, r *http.Request, inner http.Handler)
		stored bool // although the caller got an error
	}{
		"error 500": {fault: func(w http.ResponseWriter, _ *http.Request, _ http.Handler) {
			w.WriteHeader(http.StatusInternalServerError)
		}},
		"reset in the middle": {fault: func(w http.ResponseWriter, r *http.Request, _ http.Handler) {
			_, _ = io.CopyN(io.Discard, r.Body, 3)
			hijack(w)
		}},
		"success without an answer": {stored: true, fault: func(w http.ResponseWriter, r *http.Request, inner http.Handler) {
			inner.ServeHTTP(httptest.NewRecorder(), r)
			hijack(w)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := startS3(t)
			l := lab(t, open(t, blob.Config{URL: server.url()}, clock.Fixed(now)), 12)
			server.fail(c.fault)
			key := l.Key("a.docx")
			if _, err := l.Put(t.Context(), key, docx, strings.NewReader("content")); apperr.KindOf(err) != apperr.Unavailable {
				t.Errorf("put: %v", err)
			}
			server.heal()
			if _, err := l.Attributes(t.Context(), key); (err == nil) != c.stored {
				t.Errorf("afterwards: %v", err)
			}
			put(t, l, "a.docx", "content") // the same call again
			if diff := cmp.Diff([]string{"labs/12/a.docx 7"}, keys(t, l, "")); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestASlowS3EndsWithTheCallersDeadline(t *testing.T) {
	t.Parallel()
	server := startS3(t)
	l := lab(t, open(t, blob.Config{URL: server.url()}, clock.Fixed(now)), 12)
	server.fail(func(_ http.ResponseWriter, r *http.Request, _ http.Handler) {
		_, _ = io.Copy(io.Discard, r.Body)
		<-r.Context().Done()
	})
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := l.Put(ctx, l.Key("a.docx"), docx, strings.NewReader("content")); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("put: %v", err)
	}
	if _, err := l.Open(ctx, l.Key("a.docx"), 0, -1); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("open: %v", err)
	}
}
