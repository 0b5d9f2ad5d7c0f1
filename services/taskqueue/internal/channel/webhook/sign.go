package webhook

import (
	"crypto/ed25519"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/labplatform/labplatform/services/taskqueue/internal/job"
)

// Signer signs requests as Standard Webhooks 1.0 says. It has one key, or the new and the old one during a rotation.
type Signer struct {
	keys []signingKey
}

// signingKey makes one signature of version v1 (HMAC-SHA256) or v1a (Ed25519).
type signingKey struct {
	bytes     []byte // of v1a the seed of the private key
	isPrivate bool   // v1a
}

const (
	secretPrefix  = "whsec_"
	privatePrefix = "whsk_"
	publicPrefix  = "whpk_"
	minKeyBytes   = 24
)

// NewSigner reads secrets separated by commas, the newest first: whsec_ and base64, whsk_ and the base64 of an Ed25519
// key, or the bytes as they are. An empty text makes a signer that signs nothing.
func NewSigner(secrets string) (*Signer, error) {
	s := &Signer{}
	for text := range strings.SplitSeq(secrets, ",") {
		text = strings.TrimSpace(text)
		if text == "" {
			continue
		}
		key, err := readSecret(text)
		if err != nil {
			return nil, err
		}
		s.keys = append(s.keys, key)
	}
	return s, nil
}

func readSecret(text string) (signingKey, error) {
	if encoded, ok := strings.CutPrefix(text, privatePrefix); ok {
		return readPrivate(encoded)
	}
	key := []byte(text)
	if encoded, ok := strings.CutPrefix(text, secretPrefix); ok {
		decoded, err := base64.StdEncoding.DecodeString(encoded)
		if err != nil {
			return signingKey{}, errors.New("a secret that begins with whsec_ must go on in base64")
		}
		key = decoded
	}
	if len(key) < minKeyBytes {
		return signingKey{}, fmt.Errorf("a signing secret has at least %d bytes", minKeyBytes)
	}
	return signingKey{bytes: key}, nil
}

// readPrivate takes a seed of 32 bytes, or seed and public key as one.
func readPrivate(encoded string) (signingKey, error) {
	raw, err := base64.StdEncoding.DecodeString(encoded)
	if err != nil || (len(raw) != ed25519.SeedSize && len(raw) != ed25519.PrivateKeySize) {
		return signingKey{}, errors.New(
			"a secret that begins with whsk_ must go on with an Ed25519 key of 32 or 64 bytes in base64",
		)
	}
	return signingKey{bytes: raw[:ed25519.SeedSize], isPrivate: true}, nil
}

// ForLaboratory derives the signer of one laboratory's own tasks, so that no laboratory can have a request signed that
// a receiver takes for the platform's or for another one's.
func (s *Signer) ForLaboratory(lab int64) *Signer {
	own := &Signer{}
	for _, key := range s.keys { // each of the same kind, and telling nothing of its source
		derived := key.mac([]byte("laboratory " + strconv.FormatInt(lab, 10)))
		own.keys = append(own.keys, signingKey{bytes: derived, isPrivate: key.isPrivate})
	}
	return own
}

// Verifiers are what a receiver needs to check the signatures, the newest first: whsec_ secrets and whpk_ public keys.
func (s *Signer) Verifiers() []string {
	list := make([]string, len(s.keys))
	for i, key := range s.keys {
		prefix, verifier := secretPrefix, key.bytes
		if key.isPrivate {
			prefix, verifier = publicPrefix, key.private()[ed25519.SeedSize:]
		}
		list[i] = prefix + base64.StdEncoding.EncodeToString(verifier)
	}
	return list
}

// Enabled reports whether there is a key.
func (s *Signer) Enabled() bool { return len(s.keys) > 0 }

// Sign sets the webhook-* headers over the exact bytes of body.
func (s *Signer) Sign(h http.Header, id job.ID, at time.Time, body []byte) {
	h.Set("webhook-id", string(id))
	stamp := strconv.FormatInt(at.Unix(), 10)
	h.Set("webhook-timestamp", stamp)
	if !s.Enabled() {
		return
	}
	content := append([]byte(string(id)+"."+stamp+"."), body...)
	signatures := make([]string, len(s.keys))
	for i, key := range s.keys {
		signatures[i] = key.sign(content)
	}
	h.Set("webhook-signature", strings.Join(signatures, " "))
}

// SignBody sets X-Task-Signature, the simple signature of callbacks, with the newest shared key.
func (s *Signer) SignBody(h http.Header, body []byte) {
	newest := slices.IndexFunc(s.keys, func(k signingKey) bool { return !k.isPrivate })
	if newest >= 0 {
		h.Set("X-Task-Signature", "sha256="+hex.EncodeToString(s.keys[newest].mac(body)))
	}
}

func (k signingKey) sign(content []byte) string {
	if k.isPrivate {
		return "v1a," + base64.StdEncoding.EncodeToString(ed25519.Sign(k.private(), content))
	}
	return "v1," + base64.StdEncoding.EncodeToString(k.mac(content))
}

// private is the seed followed by the public key.
func (k signingKey) private() ed25519.PrivateKey { return ed25519.NewKeyFromSeed(k.bytes) }

func (k signingKey) mac(content []byte) []byte {
	mac := hmac.New(sha256.New, k.bytes)
	_, _ = mac.Write(content)
	return mac.Sum(nil)
}
