package edge

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"strings"
	"time"

	"github.com/labplatform/labplatform/pkg/apperr"
	"github.com/labplatform/labplatform/pkg/httpserver"
)

// pagePolicy makes browsers refuse inline scripts and styles, and everything from another host.
const pagePolicy = "default-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'; object-src 'none'"

// Static returns a page that serves a folder of files, with index.html at prefix itself. The files need no session,
// because they contain no data; their scripts read data from the documented paths. Links inside the page may be
// relative.
func Static(prefix string, files fs.FS) Page {
	packed := compressed(files)
	return Page{
		Route:   prefix,
		Matches: func(path string) bool { return path == prefix || strings.HasPrefix(path, prefix+"/") },
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { serveStatic(w, r, prefix, files, packed) }),
	}
}

func serveStatic(w http.ResponseWriter, r *http.Request, prefix string, files fs.FS, packed map[string][]byte) {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		w.Header().Set("Allow", "GET, HEAD")
		httpserver.WriteJSON(w, http.StatusMethodNotAllowed, httpserver.Envelope(http.StatusMethodNotAllowed,
			apperr.Newf(apperr.Invalid, "METHOD_NOT_ALLOWED", "%s is not offered on this path. Use GET.", r.Method)))
		return
	}
	// The listener has trimmed the slash. Without it browsers resolve relative links one level too high.
	if path, _, _ := strings.Cut(r.RequestURI, "?"); path == prefix {
		http.Redirect(w, r, prefix+"/", http.StatusPermanentRedirect)
		return
	}
	name := strings.TrimPrefix(strings.TrimPrefix(r.URL.Path, prefix), "/")
	if name == "" {
		name = "index.html"
	}
	content, err := fs.ReadFile(files, name)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrInvalid) || isFolder(files, name) {
		writeNoSuchPath(w, unknownArea)
		return
	}
	if err != nil {
		httpserver.WriteError(w, httpserver.Envelope,
			apperr.New(apperr.Internal, "", "The page could not be read. Try again.").WithCause(err))
		return
	}
	w.Header().Set("Content-Security-Policy", pagePolicy)
	w.Header().Set("Referrer-Policy", "same-origin")
	w.Header().Add("Vary", "Accept-Encoding")
	if small, ok := packed[name]; ok && acceptsGzip(r.Header.Get("Accept-Encoding")) {
		w.Header().Set("Content-Encoding", "gzip")
		content = small
	}
	http.ServeContent(w, r, name, time.Time{}, bytes.NewReader(content))
}

// File returns a handler that serves content under a name, which decides its type. It compresses the content for
// clients that accept that. Clients may cache it and check it by its ETag.
func File(name string, content []byte) http.Handler {
	packed := pack(content)
	tag := fmt.Sprintf("%x", sha256.Sum256(content))[:tagLength]
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, etag := content, tag
		if acceptsGzip(r.Header.Get("Accept-Encoding")) {
			w.Header().Set("Content-Encoding", "gzip")
			body, etag = packed, tag+"-gzip"
		}
		w.Header().Add("Vary", "Accept-Encoding")
		w.Header().Set("Cache-Control", "no-cache")
		w.Header().Set("ETag", `"`+etag+`"`)
		http.ServeContent(w, r, name, time.Time{}, bytes.NewReader(body))
	})
}

const tagLength = 16

// compressed returns the files that gzip makes smaller, up to the first that cannot be read.
func compressed(files fs.FS) map[string][]byte {
	packed := map[string][]byte{}
	_ = fs.WalkDir(files, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		content, err := fs.ReadFile(files, name)
		if err != nil {
			return err
		}
		if small := pack(content); len(small) < len(content) {
			packed[name] = small
		}
		return nil
	})
	return packed
}

func pack(content []byte) []byte {
	var small bytes.Buffer
	w, _ := gzip.NewWriterLevel(&small, gzip.BestCompression) // fails only for an invalid level
	_, _ = w.Write(content)
	_ = w.Close()
	return small.Bytes()
}

func acceptsGzip(header string) bool {
	for offer := range strings.SplitSeq(header, ",") {
		coding, quality, _ := strings.Cut(offer, ";")
		if strings.TrimSpace(coding) == "gzip" {
			weight, isZero := strings.CutPrefix(strings.TrimSpace(quality), "q=0")
			return !isZero || strings.Trim(weight, ".0") != ""
		}
	}
	return false
}

func isFolder(files fs.FS, name string) bool {
	info, err := fs.Stat(files, name)
	return err == nil && info.IsDir()
}
