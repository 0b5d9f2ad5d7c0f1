// Package fcm owns what every caller of Firebase Cloud Messaging needs: a service account's key, the access token that
// it is exchanged for, the classes of the answers' errors, and the management of topics.
//
// Messages are sent by the task queue alone; docs/adr/0004 says why none of this is the vendor's SDK. No error holds a
// device's token, and transport errors are returned as the client made them.
package fcm

import (
	"context"
	"fmt"
	"net/url"
	"strings"

	"github.com/labplatform/labplatform/pkg/netguard"
)

// Client makes guarded exchanges; *netguard.Client is one.
type Client interface {
	Do(ctx context.Context, q netguard.Request) (*netguard.Response, error)
}

// parseAddress reads the address of an interface: scheme and host, perhaps a path.
func parseAddress(text string) (*url.URL, error) {
	u, err := url.Parse(strings.TrimRight(text, "/"))
	if err != nil || u.Host == "" || (u.Scheme != "https" && u.Scheme != "http") {
		return nil, fmt.Errorf("%q is not an address like https://api.example.com", text)
	}
	return u, nil
}
