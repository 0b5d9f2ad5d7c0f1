package webhook

import (
	"net/url"
	"slices"

	"github.com/labplatform/labplatform/pkg/netguard"
)

// Targets holds the public and the internal client, and selects one by URL.
type Targets struct {
	public   *netguard.Client
	internal *netguard.Client
	origins  []string
}

// NewTargets returns both clients. origins are the platform's own origins, as exact scheme://host:port.
func NewTargets(origins []string, public, internal netguard.Config) (*Targets, error) {
	trusted, err := netguard.NewTrusted(origins, internal)
	if err != nil {
		return nil, err
	}
	t := &Targets{public: netguard.New(public), internal: trusted}
	for _, text := range origins {
		origin, err := netguard.ParseOrigin(text)
		if err != nil {
			return nil, err
		}
		t.origins = append(t.origins, origin)
	}
	return t, nil
}

// CheckPublic returns an error for URLs that the public client can never reach.
func (t *Targets) CheckPublic(raw string) error {
	_, err := t.public.CheckURL(raw)
	return err
}

// IsInternal reports whether u has an origin of the platform, in any notation, including http for an origin that now
// uses TLS.
func (t *Targets) IsInternal(u *url.URL) bool {
	return slices.Contains(t.origins, netguard.Origin(u)) || t.lacksTLS(u)
}

// lacksTLS reports whether a URL uses http for an origin (host and port) that now uses TLS.
func (t *Targets) lacksTLS(u *url.URL) bool {
	with := *u
	with.Scheme = "https"
	return u.Scheme == "http" && u.Port() != "" && !slices.Contains(t.origins, netguard.Origin(u)) &&
		slices.Contains(t.origins, netguard.Origin(&with))
}

// Close closes idle connections.
func (t *Targets) Close() {
	t.public.Close()
	t.internal.Close()
}
