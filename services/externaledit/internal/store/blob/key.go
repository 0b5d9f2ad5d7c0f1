package blob

import (
	"io/fs"
	"net/url"
	"strings"
	"unicode"

	"github.com/labplatform/labplatform/pkg/apperr"
)

const (
	maxKey    = 512 // in bytes; half of what S3 and the columns of paths accept
	labFolder = "labs/"
)

// ErrKeyInvalid is returned for a text that is neither a key nor the URL of an object in this store.
var ErrKeyInvalid = apperr.New(
	apperr.Invalid,
	"FILE_PATH_INVALID",
	"the file path is neither a path in the platform's store nor its URL there",
)

// checkKey rejects keys that could leave their folder, that are ambiguous, or that look like files of the store itself.
func checkKey(key string) error {
	if len(key) > maxKey || key == "." || !fs.ValidPath(key) || strings.HasSuffix(key, temporary) ||
		strings.HasSuffix(key, attributes) {
		return ErrKeyInvalid
	}
	for _, r := range key {
		if unicode.IsControl(r) || strings.ContainsRune(`\%?#`, r) {
			return ErrKeyInvalid
		}
	}
	return nil
}

// URL returns the name of the object in rows and responses: the store's URL without its query, and the key.
func (b *Bucket) URL(key string) string { return b.base + "/" + key }

// Key returns the key that text names: text is a key or the URL of an object in this store. The object may be missing
// or belong to another laboratory. Access is checked by Lab and Shared.
func (b *Bucket) Key(text string) (string, error) {
	key := text
	if strings.Contains(text, "://") {
		rest, ours := strings.CutPrefix(text, b.base+"/")
		plain, err := url.PathUnescape(rest)
		if !ours || err != nil {
			return "", ErrKeyInvalid
		}
		key = plain
	}
	return key, checkKey(key)
}
