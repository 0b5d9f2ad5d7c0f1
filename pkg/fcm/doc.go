// Package fcm provides what the callers of Firebase Cloud Messaging share: the key of a service account, the access
// token obtained with it, the classification of error responses, and the management of topics.
//
// Only the task queue sends messages; docs/adr/0004 explains why the vendor's SDK is not used. No error contains a
// device's token, and transport errors are returned as the client made them.
package fcm

import (
	"context"
	"fmt"
	"net/url"
	"strings"

	"github.com/labplatform/labplatform/pkg/netguard"
)

// Client sends guarded HTTP requests, as *netguard.Client does.
type Client interface {
	Do(ctx context.Context, q netguard.Request) (*netguard.Response, error)
}

// parseAddress parses the base address of an API: scheme and host, optionally a path.
func parseAddress(text string) (*url.URL, error) {
	u, err := url.Parse(strings.TrimRight(text, "/"))
	if err != nil || u.Host == "" || (u.Scheme != "https" && u.Scheme != "http") {
		return nil, fmt.Errorf("%q is not an address like https://api.example.com", text)
	}
	return u, nil
}
