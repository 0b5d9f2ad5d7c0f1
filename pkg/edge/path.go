package edge

import (
	"net/http"
	"net/url"
	"strings"
)

// keepSegments prepares u for routing: it removes one trailing slash, and sets RawPath if a segment has a character
// that the decoded path would hide. An encoded slash belongs to its segment and separates nothing, so that a path
// cannot lead to another operation than the one that proxies see. Other encoded characters match like plain ones.
func keepSegments(u *url.URL) {
	if u.RawPath == "" && !strings.Contains(u.Path, "%") { // the common case
		u.Path = trimSlash(u.Path)
		return
	}
	segments := strings.Split(trimSlash(u.EscapedPath()), "/")
	for i, segment := range segments {
		if plain, err := url.PathUnescape(segment); err == nil { // EscapedPath escapes what cannot be decoded
			segments[i] = url.PathEscape(plain)
		}
	}
	u.RawPath = strings.Join(segments, "/")
	if plain, err := url.PathUnescape(u.RawPath); err == nil {
		u.Path = plain
	}
}

// routed returns the path of r that is compared with routes, after keepSegments.
func routed(r *http.Request) string {
	if r.URL.RawPath != "" {
		return r.URL.RawPath
	}
	return r.URL.Path
}

// trimSlash removes exactly one trailing slash, so that a path works with and without it. A redirect would lose the
// body.
func trimSlash(path string) string {
	if len(path) > 1 && path[len(path)-1] == '/' {
		return path[:len(path)-1]
	}
	return path
}
