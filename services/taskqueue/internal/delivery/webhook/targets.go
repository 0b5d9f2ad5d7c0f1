package webhook

import (
	"net/url"
	"slices"

	"github.com/labplatform/labplatform/pkg/netguard"
)

// Targets are the two clients and the list that divides URLs between them.
type Targets struct {
	public   *netguard.Client
	internal *netguard.Client
	origins  []string
}

// NewTargets makes the clients. origins are exact scheme://host:port of the platform itself.
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

// CheckPublic refuses URLs that the public client can never reach.
func (t *Targets) CheckPublic(raw string) error {
	_, err := t.public.CheckURL(raw)
	return err
}

// IsInternal reports whether u names an origin of the platform, however it is spelt, and also without the TLS that it
// has by now.
func (t *Targets) IsInternal(u *url.URL) bool {
	return slices.Contains(t.origins, netguard.Origin(u)) || t.lacksTLS(u)
}

// lacksTLS reports whether a URL was written before its origin, a host with a port, was encrypted.
func (t *Targets) lacksTLS(u *url.URL) bool {
	with := *u
	with.Scheme = "https"
	return u.Scheme == "http" && u.Port() != "" && !slices.Contains(t.origins, netguard.Origin(u)) &&
		slices.Contains(t.origins, netguard.Origin(&with))
}

// Close drops idle connections.
func (t *Targets) Close() {
	t.public.Close()
	t.internal.Close()
}
