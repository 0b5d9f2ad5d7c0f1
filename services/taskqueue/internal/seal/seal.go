// Package seal encrypts the payloads of jobs at rest: message bodies, one-time passwords, recipients and headers. Each
// key is a file whose name is its id. New jobs are encrypted with the last key by name, and all keys can decrypt. A key
// is rotated by adding a file; the old file can be removed once no job encrypted with it exists.
package seal

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/labplatform/labplatform/services/taskqueue/internal/job"
)

// ErrNoKey is returned if the key of a sealed job is missing. The job waits for the key.
var ErrNoKey = errors.New("the key that the job was sealed with is not among the keys")

const keyBytes = 32

// Ring holds the keys of a deployment. A nil ring does not seal and opens only unsealed jobs. It is safe for concurrent
// use.
type Ring struct {
	files   fs.FS
	current atomic.Pointer[keys]
}

type keys struct {
	all    map[string]cipher.AEAD
	newest string
}

// NewRing returns a ring with the keys in files. A file contains 32 bytes in base64, as written by `openssl rand
// -base64 32`.
func NewRing(files fs.FS) (*Ring, error) {
	r := &Ring{files: files}
	return r, r.Reload()
}

// Reload reads the keys again. After an error, the ring keeps its keys.
func (r *Ring) Reload() error {
	entries, err := fs.ReadDir(r.files, ".")
	if err != nil {
		return fmt.Errorf("list the keys: %w", err)
	}
	all := map[string]cipher.AEAD{}
	for _, e := range entries {
		if e.IsDir() || strings.HasPrefix(e.Name(), ".") { // directories and links that Kubernetes adds to a mounted secret
			continue
		}
		if all[e.Name()], err = readKey(r.files, e.Name()); err != nil {
			return err
		}
	}
	if len(all) == 0 {
		return errors.New("there is no key: write one with `openssl rand -base64 32`")
	}
	r.current.Store(&keys{all: all, newest: slices.Max(slices.Collect(maps.Keys(all)))})
	return nil
}

func readKey(files fs.FS, name string) (cipher.AEAD, error) {
	raw, err := fs.ReadFile(files, name)
	if err != nil {
		return nil, fmt.Errorf("read key %s: %w", name, err)
	}
	key, err := base64.StdEncoding.DecodeString(strings.TrimSpace(string(raw)))
	if err != nil || len(key) != keyBytes {
		return nil, fmt.Errorf("key %s is not 32 bytes in base64", name) // the error must not contain the key
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, fmt.Errorf("key %s: %w", name, err)
	}
	return cipher.NewGCM(block)
}

// Field numbers of the sealed payload, and of the envelope around it.
const (
	fieldData    = 1
	fieldHeaders = 2
	fieldKey     = 1
	fieldNonce   = 2
	fieldText    = 3
)

// Seal replaces the payload of a job by its encrypted form. A job that is already sealed stays unchanged.
func (r *Ring) Seal(b *job.Body, c job.Channel) {
	if r == nil || len(b.Sealed) > 0 {
		return
	}
	present := r.current.Load()
	key := present.all[present.newest]
	nonce := make([]byte, key.NonceSize())
	_, _ = rand.Read(nonce) // never fails
	text := key.Seal(nil, nonce, message(b.Data, b.Headers), owner(b))
	b.CallbackTo = job.DataCallback(c, b.Data)
	b.Sealed, b.Data, b.Headers = message([]byte(present.newest), nonce, text), nil, nil
}

// message returns the protobuf wire form of fields numbered from 1.
func message(fields ...[]byte) []byte {
	var out []byte
	for i, text := range fields {
		out = protowire.AppendBytes(protowire.AppendTag(out, protowire.Number(i+1), protowire.BytesType), text)
	}
	return out
}

// owner returns the associated data that binds a sealed payload to its laboratory, so that it cannot be opened in a job
// of another one.
func owner(b *job.Body) []byte { return []byte("job of laboratory " + strconv.FormatInt(b.LabID, 10)) }

// Open restores the payload of a sealed job. If the key is unknown, the keys are read again.
func (r *Ring) Open(b *job.Body) error {
	if len(b.Sealed) == 0 {
		return nil
	}
	if r == nil {
		return ErrNoKey
	}
	envelope, err := fields(b.Sealed)
	if err != nil {
		return err
	}
	key := r.key(string(envelope[fieldKey]))
	if key == nil {
		return ErrNoKey
	}
	if len(envelope[fieldNonce]) != key.NonceSize() {
		return errDamaged
	}
	plain, err := key.Open(nil, envelope[fieldNonce], envelope[fieldText], owner(b))
	if err != nil {
		return errDamaged
	}
	inner, err := fields(plain)
	if err != nil {
		return err
	}
	b.Data, b.Headers, b.Sealed = inner[fieldData], inner[fieldHeaders], nil
	return nil
}

func (r *Ring) key(name string) cipher.AEAD {
	if key := r.current.Load().all[name]; key != nil || r.Reload() != nil {
		return key
	}
	return r.current.Load().all[name]
}

var errDamaged = errors.New("the sealed payload is damaged")

func fields(raw []byte) (map[protowire.Number][]byte, error) {
	out := map[protowire.Number][]byte{}
	for len(raw) > 0 {
		field, kind, n := protowire.ConsumeTag(raw)
		if n < 0 || kind != protowire.BytesType {
			return nil, errDamaged
		}
		text, m := protowire.ConsumeBytes(raw[n:])
		if m < 0 {
			return nil, errDamaged
		}
		if len(text) > 0 {
			out[field] = text
		}
		raw = raw[n+m:]
	}
	return out, nil
}
