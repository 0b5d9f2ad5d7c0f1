package edge

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/labplatform/labplatform/pkg/apperr"
)

func unfitKey(key string) bool {
	return key == "" || strings.ContainsFunc(key, func(c rune) bool { return c < ' ' || c > '~' })
}

// checkText returns an error for a path, query parameter or Idempotency-Key that no protobuf message or gRPC metadata
// can carry, and for several keys. gRPC would report it as a server error, and grpc-gateway would silently drop the
// key, so that a repeated write would be executed twice. An empty key is a client's mistake.
func checkText(r *http.Request) *apperr.Error {
	if !utf8.ValidString(r.URL.Path) || strings.ContainsRune(r.URL.Path, 0) {
		return apperr.New(apperr.Invalid, "INVALID_PATH", "the path must be text in UTF-8, without the character 0")
	}
	keys := r.Header.Values("Idempotency-Key")
	if len(keys) > 1 || slices.ContainsFunc(keys, unfitKey) {
		return apperr.InvalidField("Idempotency-Key",
			"Idempotency-Key must consist of printable ASCII characters, for example a UUID; leave it out if there is none")
	}
	if r.URL.RawQuery == "" {
		return nil
	}
	parameters, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return apperr.New(apperr.Invalid, "INVALID_QUERY",
			"the parameters behind the question mark are not encoded as a URL needs it")
	}
	for name, values := range parameters {
		for _, value := range append(values, name) {
			if utf8.ValidString(value) {
				continue
			}
			if !utf8.ValidString(name) {
				name = "every parameter"
			}
			return apperr.InvalidField(name, name+" must be text in UTF-8")
		}
	}
	return nil
}
