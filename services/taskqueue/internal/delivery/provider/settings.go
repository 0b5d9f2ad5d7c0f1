package provider

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io/fs"
	"net/url"
	"regexp"
	"strings"
	"time"

	"github.com/labplatform/labplatform/pkg/config"
)

// Directory finds secrets as the files of a directory, as Kubernetes mounts them. They are read at every use, so that
// a rotated secret works without a restart. Root is usually os.Root.FS().
type Directory struct{ Root fs.FS }

// Secret reads the file of that name, without the line end.
func (d Directory) Secret(name string) (config.Secret, error) {
	if !secretName().MatchString(name) {
		return "", fmt.Errorf("the secret name %q is not a plain file name", name)
	}
	if d.Root == nil {
		return "", fmt.Errorf("secret %q: no directory of secrets is configured", name)
	}
	raw, err := fs.ReadFile(d.Root, name)
	if err != nil {
		return "", fmt.Errorf("secret %q: %w", name, err)
	}
	text := strings.TrimRight(string(raw), "\r\n")
	if text == "" {
		return "", fmt.Errorf("secret %q is empty", name)
	}
	return config.Secret(text), nil
}

func secretName() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}$`) }

// Decode reads a provider's settings; a member that the provider does not know is an error, most likely misspelt.
// The members "kind" and "rate_per_second" are of every kind and not the provider's business.
func Decode(raw json.RawMessage, dst any) error {
	var members map[string]json.RawMessage
	if err := json.Unmarshal(raw, &members); err != nil {
		return fmt.Errorf("settings are not a JSON object: %w", err)
	}
	delete(members, "kind")
	delete(members, "rate_per_second")
	rest, err := json.Marshal(members)
	if err != nil {
		return fmt.Errorf("settings: %w", err)
	}
	decoder := json.NewDecoder(bytes.NewReader(rest))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(dst); err != nil {
		return fmt.Errorf("settings: %w", err)
	}
	return nil
}

// ParseBase reads the address of an API: scheme and host, perhaps a path.
func ParseBase(text string) (*url.URL, error) {
	u, err := url.Parse(strings.TrimRight(text, "/"))
	if err != nil || u.Host == "" || (u.Scheme != "https" && u.Scheme != "http") {
		return nil, fmt.Errorf("base_url: %q is not an address like https://api.example.com", text)
	}
	return u, nil
}

// Timeout is timeout_seconds of a provider's settings, its default when they do not say, and never too long.
func Timeout(seconds int, otherwise, most time.Duration) time.Duration {
	if seconds <= 0 {
		return otherwise
	}
	return min(time.Duration(seconds)*time.Second, most)
}

// Hash is how a recipient or a token appears in logs: enough to compare, not to read.
func Hash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:6])
}
