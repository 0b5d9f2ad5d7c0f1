package webhook

import (
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

// Signer signs requests according to Standard Webhooks 1.0. It has one key, or several during a rotation.
type Signer struct {
	keys [][]byte
}

const (
	secretPrefix  = "whsec_"
	privatePrefix = "whsk_"
	minKeyBytes   = 24
)

// NewSigner parses secrets separated by commas, the newest first. A secret is whsec_ and base64, or plain bytes. With
// an empty text, the signer adds no signatures.
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

func readSecret(text string) ([]byte, error) {
	if strings.HasPrefix(text, privatePrefix) {
		return nil, errors.New("a secret that begins with whsk_ is an Ed25519 key, which is not supported; use whsec_")
	}
	key := []byte(text)
	if encoded, ok := strings.CutPrefix(text, secretPrefix); ok {
		decoded, err := base64.StdEncoding.DecodeString(encoded)
		if err != nil {
			return nil, errors.New("a secret that begins with whsec_ must continue in base64")
		}
		key = decoded
	}
	if len(key) < minKeyBytes {
		return nil, fmt.Errorf("a signing secret has at least %d bytes", minKeyBytes)
	}
	return key, nil
}

// ForLaboratory returns a signer with keys derived for a laboratory's own tasks. A laboratory thus cannot obtain a
// signature that a receiver accepts as the platform's or another laboratory's.
func (s *Signer) ForLaboratory(lab int64) *Signer {
	own := &Signer{}
	for _, key := range s.keys {
		own.keys = append(own.keys, mac(key, []byte("laboratory "+strconv.FormatInt(lab, 10))))
	}
	return own
}

// Verifiers returns the secrets with which a receiver verifies signatures, the newest first, in whsec_ form.
func (s *Signer) Verifiers() []string {
	list := make([]string, len(s.keys))
	for i, key := range s.keys {
		list[i] = secretPrefix + base64.StdEncoding.EncodeToString(key)
	}
	return list
}

// Enabled reports whether the signer has a key.
func (s *Signer) Enabled() bool { return len(s.keys) > 0 }

// Sign sets the webhook-* headers for the exact bytes of body.
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
		signatures[i] = "v1," + base64.StdEncoding.EncodeToString(mac(key, content))
	}
	h.Set("webhook-signature", strings.Join(signatures, " "))
}

// SignBody sets X-Task-Signature, the simple signature of callbacks, with the newest key.
func (s *Signer) SignBody(h http.Header, body []byte) {
	if s.Enabled() {
		h.Set("X-Task-Signature", "sha256="+hex.EncodeToString(mac(s.keys[0], body)))
	}
}

func mac(key, content []byte) []byte {
	h := hmac.New(sha256.New, key)
	_, _ = h.Write(content)
	return h.Sum(nil)
}
