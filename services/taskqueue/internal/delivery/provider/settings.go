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

// Directory reads secrets from files in a directory, as mounted by Kubernetes. Each use reads the file, so that a
// rotated secret takes effect without a restart. Root is usually os.Root.FS().
type Directory struct{ Root fs.FS }

// Secret returns the content of the named file without the trailing line break.
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

// Decode decodes a provider's settings. Unknown members are errors, because they are probably misspelt. The members
// "kind" and "rate_per_second", which are common to all kinds, are ignored.
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

// ParseBase parses the URL of an API: scheme and host, optionally a path. It returns an error for a URL that can never
// be requested.
func (d *Deps) ParseBase(text string) (*url.URL, error) {
	u, err := url.Parse(strings.TrimRight(text, "/"))
	if err != nil || u.Host == "" || (u.Scheme != "https" && u.Scheme != "http") {
		return nil, fmt.Errorf("base_url: %q is not an address like https://api.example.com", text)
	}
	if err := d.CheckURL(u); err != nil {
		return nil, fmt.Errorf("base_url: %w", err)
	}
	return u, nil
}

// CheckURL returns an error if the settings of the service do not allow requests to u, for example because of its port.
func (d *Deps) CheckURL(u *url.URL) error {
	if d.API == nil { // settings are read without a client
		return nil
	}
	_, err := d.API.CheckURL(u.String())
	return err
}

// Timeout returns timeout_seconds of a provider's settings, or otherwise if it is 0; at most most.
func Timeout(seconds int, otherwise, most time.Duration) time.Duration {
	if seconds <= 0 {
		return otherwise
	}
	return min(time.Duration(seconds)*time.Second, most)
}

// Hash returns a short hash of a recipient or token for logs. It allows comparison but does not reveal the value.
func Hash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:6])
}
