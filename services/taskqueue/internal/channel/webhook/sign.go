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
	"strconv"
	"strings"
	"time"

	"github.com/labplatform/labplatform/services/taskqueue/internal/job"
)

// Signer signs requests as Standard Webhooks 1.0 says. It has one key, or the new and the old one during a rotation.
type Signer struct {
	keys []signingKey
}

// signingKey makes one signature of version v1 (HMAC-SHA256) or v1a (Ed25519); the other member is nil.
type signingKey struct {
	shared  []byte
	private ed25519.PrivateKey
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
	return signingKey{shared: key}, nil
}

// readPrivate takes a seed of 32 bytes, or seed and public key as one.
func readPrivate(encoded string) (signingKey, error) {
	raw, err := base64.StdEncoding.DecodeString(encoded)
	if err != nil || (len(raw) != ed25519.SeedSize && len(raw) != ed25519.PrivateKeySize) {
		return signingKey{}, errors.New(
			"a secret that begins with whsk_ must go on with an Ed25519 key of 32 or 64 bytes in base64",
		)
	}
	return signingKey{private: ed25519.NewKeyFromSeed(raw[:ed25519.SeedSize])}, nil
}

// ForLaboratory derives the signer of one laboratory's own tasks, so that no laboratory can have a request signed that
// a receiver takes for the platform's or for another one's.
func (s *Signer) ForLaboratory(lab int64) *Signer {
	if s == nil {
		return nil
	}
	own := &Signer{keys: make([]signingKey, len(s.keys))}
	for i := range s.keys {
		own.keys[i] = s.keys[i].derive("laboratory " + strconv.FormatInt(lab, 10))
	}
	return own
}

// derive makes a key of the same kind that tells nothing of k.
func (k *signingKey) derive(name string) signingKey {
	source := k.shared
	if k.private != nil {
		source = k.private.Seed()
	}
	mac := hmac.New(sha256.New, source)
	_, _ = mac.Write([]byte(name))
	if k.private != nil {
		return signingKey{private: ed25519.NewKeyFromSeed(mac.Sum(nil))}
	}
	return signingKey{shared: mac.Sum(nil)}
}

// Verifiers are what a receiver needs to check the signatures, the newest first: whsec_ secrets and whpk_ public keys.
func (s *Signer) Verifiers() []string {
	list := make([]string, len(s.keys))
	for i, key := range s.keys {
		list[i] = secretPrefix + base64.StdEncoding.EncodeToString(key.shared)
		if key.private != nil {
			public, _ := key.private.Public().(ed25519.PublicKey)
			list[i] = publicPrefix + base64.StdEncoding.EncodeToString(public)
		}
	}
	return list
}

// Enabled reports whether there is a key.
func (s *Signer) Enabled() bool { return s != nil && len(s.keys) > 0 }

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
	for i := range s.keys {
		signatures[i] = s.keys[i].sign(content)
	}
	h.Set("webhook-signature", strings.Join(signatures, " "))
}

func (k *signingKey) sign(content []byte) string {
	if k.private != nil {
		return "v1a," + base64.StdEncoding.EncodeToString(ed25519.Sign(k.private, content))
	}
	mac := hmac.New(sha256.New, k.shared)
	_, _ = mac.Write(content)
	return "v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil))
}

// SignBody sets X-Task-Signature, the simple signature of callbacks, with the newest shared key.
func (s *Signer) SignBody(h http.Header, body []byte) {
	if s == nil {
		return
	}
	for _, key := range s.keys {
		if key.shared == nil {
			continue
		}
		mac := hmac.New(sha256.New, key.shared)
		_, _ = mac.Write(body)
		h.Set("X-Task-Signature", "sha256="+hex.EncodeToString(mac.Sum(nil)))
		return
	}
}
