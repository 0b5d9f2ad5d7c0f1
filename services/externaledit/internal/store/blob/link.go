package blob

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"mime"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strconv"
	"time"

	"gocloud.dev/gcerrors"

	"github.com/labplatform/labplatform/pkg/clock"
	"github.com/labplatform/labplatform/pkg/httpserver"
)

// linker signs links to the files in a folder.
type linker struct {
	base  string
	keys  [][]byte // the first one signs, all verify
	clock clock.Clock
}

// errLink is the only error for an invalid link, so that it reveals nothing about files.
var errLink = errors.New("this link is not valid any more: ask for a new one")

func (l *linker) sign(key string, expiry time.Duration) string {
	expires := strconv.FormatInt(l.clock.Now().Add(expiry).Unix(), 10)
	query := url.Values{"key": {key}, "expires": {expires}, "signature": {signature(l.keys[0], key, expires)}}
	return l.base + "?" + query.Encode()
}

// signature signs key and expiry. The separator is a line break, which keys cannot contain.
func signature(secret []byte, key, expires string) string {
	code := hmac.New(sha256.New, secret)
	code.Write([]byte("GET\n" + key + "\n" + expires))
	return base64.RawURLEncoding.EncodeToString(code.Sum(nil))
}

// verify returns the key of a link if the link was signed by this service and has not expired.
func (l *linker) verify(query url.Values) (string, error) {
	key, expires := query.Get("key"), query.Get("expires")
	given := []byte(query.Get("signature"))
	signed := func(secret []byte) bool { return hmac.Equal(given, []byte(signature(secret, key, expires))) }
	if !slices.ContainsFunc(l.keys, signed) || checkKey(key) != nil {
		return "", errLink
	}
	end, err := strconv.ParseInt(expires, 10, 64)
	if err != nil || l.clock.Now().Unix() >= end {
		return "", errLink
	}
	return key, nil
}

// Handler serves the links that SignedURL returns for a folder, with support for ranges. The service mounts it at
// BLOB_PUBLIC_URL. For S3, which serves its own links, it responds 404.
func (b *Bucket) Handler() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Cache-Control", "no-store")
		w.Header().Set("X-Content-Type-Options", "nosniff")
		switch {
		case b.links == nil:
			http.NotFound(w, r)
		case r.Method != http.MethodGet && r.Method != http.MethodHead:
			w.Header().Set("Allow", "GET, HEAD")
			http.Error(w, "a file can only be downloaded", http.StatusMethodNotAllowed)
		default:
			b.serve(w, r)
		}
	})
}

func (b *Bucket) serve(w http.ResponseWriter, r *http.Request) {
	key, err := b.links.verify(r.URL.Query())
	if err != nil {
		http.Error(w, err.Error(), http.StatusForbidden)
		return
	}
	reader, err := b.inner.NewReader(r.Context(), key, nil)
	if gcerrors.Code(err) == gcerrors.NotFound {
		http.Error(w, ErrNotFound.Message, http.StatusNotFound)
		return
	}
	if err != nil {
		w.Header().Set("Retry-After", "1")
		http.Error(w, "the file store does not answer: try again in a moment", http.StatusServiceUnavailable)
		return
	}
	defer func() { _ = reader.Close() }() // the reader has nothing to flush
	w.Header().Set("Content-Type", b.contentType(key, reader.ContentType()))
	w.Header().
		Set("Content-Disposition", mime.FormatMediaType("attachment", map[string]string{"filename": path.Base(key)}))
	http.ServeContent(httpserver.PacedResponse(w), r, "", reader.ModTime(), reader)
}
