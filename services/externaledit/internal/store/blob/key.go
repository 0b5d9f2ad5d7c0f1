package blob

import (
	"io/fs"
	"net/url"
	"strings"
	"unicode"

	"github.com/labplatform/labplatform/pkg/apperr"
)

const (
	maxKey    = 512 // bytes, half of what S3 and the columns of paths take
	labFolder = "labs/"
)

// ErrKeyInvalid reports that a text is neither a key nor the URL of an object of this store.
var ErrKeyInvalid = apperr.New(
	apperr.Invalid,
	"FILE_PATH_INVALID",
	"the file path is neither a path in the platform's store nor its URL there",
)

// checkKey refuses what could leave its folder, mean two things, or be taken for a file of the store's own.
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

// URL returns how rows and answers name the object: the store's URL without its query, and the key.
func (b *Bucket) URL(key string) string { return b.base + "/" + key }

// Key returns the key that text means: the URL of an object of this store, or a key. The object need not exist, and may
// be another laboratory's: the key counts only through Lab or Shared.
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
