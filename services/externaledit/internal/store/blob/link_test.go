package blob_test

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/labplatform/labplatform/pkg/clock"
	"github.com/labplatform/labplatform/services/externaledit/internal/store/blob"
)

func get(t *testing.T, b *blob.Bucket, method, link string, header ...string) *httptest.ResponseRecorder {
	t.Helper()
	r := httptest.NewRequest(method, link, nil)
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	b.Handler().ServeHTTP(w, r)
	return w
}

func sign(t *testing.T, l blob.Lab, key string) string {
	t.Helper()
	link, err := l.SignedURL(t.Context(), key, time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	return link
}

func TestALinkDownloadsItsFile(t *testing.T) {
	t.Parallel()
	b := openFolder(t)
	l := lab(t, b, 12)
	link := sign(t, l, put(t, l, "reports/7001/1 \"final\".docx", "0123456789"))
	if !strings.HasPrefix(link, "http://127.0.0.1:8002/files?") {
		t.Fatalf("link %q", link)
	}
	answer := get(t, b, http.MethodGet, link)
	if answer.Code != http.StatusOK || answer.Body.String() != "0123456789" {
		t.Fatalf("%d %q", answer.Code, answer.Body)
	}
	for name, want := range map[string]string{"Content-Type": docx, "Content-Disposition": `attachment; filename="1 \"final\".docx"`,
		"X-Content-Type-Options": "nosniff", "Cache-Control": "no-store", "Content-Length": "10"} {
		if got := answer.Header().Get(name); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	if part := get(t, b, http.MethodGet, link, "Range", "bytes=3-6"); part.Code != http.StatusPartialContent || part.Body.String() != "3456" {
		t.Errorf("a range: %d %q", part.Code, part.Body)
	}
	if head := get(t, b, http.MethodHead, link); head.Code != http.StatusOK || head.Body.Len() != 0 || head.Header().Get("Content-Length") != "10" {
		t.Errorf("HEAD: %d, %v", head.Code, head.Header())
	}
}

func TestALinkThatWasChangedOrEndedOpensNothing(t *testing.T) {
	t.Parallel()
	cfg := folderConfig(t)
	b := open(t, cfg, clock.Fixed(now))
	l := lab(t, b, 12)
	put(t, l, "b.docx", "another file")
	link := sign(t, l, put(t, l, "a.docx", "content"))
	change := func(name, value string) string {
		u, err := url.Parse(link)
		if err != nil {
			t.Fatal(err)
		}
		query := u.Query()
		query.Set(name, value)
		u.RawQuery = query.Encode()
		return u.String()
	}
	for name, changed := range map[string]string{
		"another file":       change("key", "labs/12/b.docx"),
		"out of the folder":  change("key", "../secrets.json"),
		"a later end":        change("expires", "99999999999"),
		"no number":          change("expires", "soon"),
		"another signature":  change("signature", strings.Repeat("A", 43)),
		"no signature":       change("signature", ""),
		"no query":           "http://127.0.0.1:8002/files",
		"key and end glued":  change("key", "labs/12/a.docx\n1"),
		"a signature in hex": change("signature", strings.Repeat("0", 64)),
	} {
		if answer := get(t, b, http.MethodGet, changed); answer.Code != http.StatusForbidden || !strings.Contains(answer.Body.String(), "ask for a new one") {
			t.Errorf("%s: %d %q", name, answer.Code, answer.Body)
		}
	}
	for after, want := range map[time.Duration]int{59 * time.Second: http.StatusOK, time.Minute: http.StatusForbidden} {
		if answer := get(t, open(t, cfg, clock.Fixed(now.Add(after))), http.MethodGet, link); answer.Code != want {
			t.Errorf("after %v: %d", after, answer.Code)
		}
	}
	cfg.SigningSecret = "another secret of at least 32 bytes"
	if answer := get(t, open(t, cfg, clock.Fixed(now)), http.MethodGet, link); answer.Code != http.StatusForbidden {
		t.Errorf("with another secret: %d", answer.Code)
	}
}

func TestALinkToNothingAndOtherMethods(t *testing.T) {
	t.Parallel()
	b := openFolder(t)
	l := lab(t, b, 12)
	link := sign(t, l, l.Key("absent.docx"))
	if answer := get(t, b, http.MethodGet, link); answer.Code != http.StatusNotFound {
		t.Errorf("an absent file: %d", answer.Code)
	}
	if answer := get(t, b, http.MethodPut, link); answer.Code != http.StatusMethodNotAllowed || answer.Header().Get("Allow") != "GET, HEAD" {
		t.Errorf("PUT: %d", answer.Code)
	}
	for _, expiry := range []time.Duration{0, -time.Second, 8 * 24 * time.Hour} {
		if _, err := l.SignedURL(t.Context(), l.Key("a.docx"), expiry); err == nil {
			t.Errorf("a link for %v", expiry)
		}
	}
}

func TestValidateSaysWhatToDo(t *testing.T) {
	t.Parallel()
	good := blob.Config{URL: "file:///objects", SigningSecret: secret, PublicURL: "http://h:8002/files"}
	for name, c := range map[string]struct {
		change func(*blob.Config)
		says   string
	}{
		"nothing":           {func(c *blob.Config) { c.URL = "" }, "BLOB_URL must be file:///folder or s3://bucket"},
		"another store":     {func(c *blob.Config) { c.URL = "gs://bucket" }, "BLOB_URL must be"},
		"not a URL":         {func(c *blob.Config) { c.URL = "://" }, "BLOB_URL must be"},
		"two slashes":       {func(c *blob.Config) { c.URL = "file://objects" }, "three slashes"},
		"no bucket":         {func(c *blob.Config) { c.URL = "s3://?region=x" }, "bucket alone"},
		"a path":            {func(c *blob.Config) { c.URL = "s3://bucket/labs" }, "bucket alone"},
		"credentials":       {func(c *blob.Config) { c.URL = "s3://id:secret@bucket" }, "must not hold credentials"},
		"a short secret":    {func(c *blob.Config) { c.SigningSecret = "short" }, "BLOB_SIGNING_SECRET must have at least 32 bytes"},
		"no public address": {func(c *blob.Config) { c.PublicURL = "127.0.0.1:8002" }, "BLOB_PUBLIC_URL must be"},
	} {
		cfg := good
		c.change(&cfg)
		if err := cfg.Validate(); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v", name, err)
		} else if strings.Contains(err.Error(), "id:secret") {
			t.Errorf("%s: the error shows the secret", name)
		}
	}
	if err := good.Validate(); err != nil {
		t.Error(err)
	}
}
