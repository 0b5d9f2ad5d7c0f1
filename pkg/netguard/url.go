package netguard

import (
	"errors"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// MaxURLLength is the maximum length of an accepted URL in bytes.
const MaxURLLength = 2048

// ErrRefused matches every refusal by policy; a retry cannot succeed.
var ErrRefused = errors.New("refused by network policy")

// Refusal is the error for a destination that is not allowed. Why states the reason for users.
type Refusal struct{ Why string }

// Error returns the reason.
func (r *Refusal) Error() string { return r.Why }

// Is reports a match with ErrRefused.
func (r *Refusal) Is(target error) bool { return target == ErrRefused }

func refuse(why string) error { return &Refusal{Why: why} }

// CheckURL parses raw and returns a Refusal for a URL that can never be requested. It gives callers an early error; the
// protection is the address check when the connection is made.
func (c *Client) CheckURL(raw string) (*url.URL, error) {
	u, err := parse(raw)
	if err != nil {
		return nil, err
	}
	if c.origins != nil {
		if !slices.Contains(c.origins, Origin(u)) {
			return nil, refuse("the URL is not on the list of internal origins")
		}
		return u, nil
	}
	if c.exempt(u.Hostname(), u.Port()) {
		return u, nil
	}
	if u.Scheme == "http" && !c.allowHTTP {
		return nil, refuse("the URL must begin with https://")
	}
	if err := checkHost(u.Hostname()); err != nil {
		return nil, err
	}
	if !c.portAllowed(port(u)) {
		return nil, refuse("the URL's port is not allowed")
	}
	if addr, err := netip.ParseAddr(u.Hostname()); err == nil {
		return u, c.table.check(addr)
	}
	return u, nil
}

// Unusable reports whether raw is refused by every client, whatever its configuration.
func Unusable(raw string) bool {
	_, err := parse(raw)
	return err != nil
}

func parse(raw string) (*url.URL, error) {
	if raw == "" {
		return nil, refuse("the URL is missing")
	}
	if len(raw) > MaxURLLength {
		return nil, refuse("the URL is longer than 2048 bytes")
	}
	for _, c := range []byte(raw) {
		if c <= ' ' || c == 0x7f || c == '\\' {
			return nil, refuse("the URL holds a space, a backslash or a control character")
		}
	}
	u, err := url.Parse(raw)
	if err != nil {
		return nil, refuse("the URL cannot be parsed")
	}
	switch {
	case u.Scheme != "http" && u.Scheme != "https":
		return nil, refuse("the URL must begin with http:// or https://")
	case u.Opaque != "" || u.Hostname() == "":
		return nil, refuse("the URL has no host")
	case u.User != nil:
		return nil, refuse("the URL must not hold a user name or password")
	case u.Fragment != "" || strings.Contains(raw, "#"):
		return nil, refuse("the URL must not hold a fragment")
	}
	if n := port(u); n < 1 || n > 65535 {
		return nil, refuse("the URL's port is not a number from 1 to 65535")
	}
	return u, nil
}

func port(u *url.URL) int {
	if u.Port() == "" {
		if strings.HasSuffix(u.Host, ":") {
			return 0
		}
		if u.Scheme == "http" {
			return 80
		}
		return 443
	}
	n, err := strconv.Atoi(u.Port())
	if err != nil {
		return 0
	}
	return n
}

// checkHost refuses localhost, names longer than 253 bytes, and notations that resolvers interpret differently:
// trailing dots, zones, non-ASCII characters, and numbers that are not a dotted quad.
func checkHost(host string) error {
	if strings.ContainsRune(host, '%') {
		return refuse("the URL's host must not hold a zone or percent-encoding")
	}
	if _, err := netip.ParseAddr(host); err == nil {
		return nil
	}
	if len(host) > 253 || strings.HasSuffix(host, ".") {
		return refuse("the URL's host is too long or ends in a dot")
	}
	labels := strings.Split(host, ".")
	if strings.EqualFold(labels[len(labels)-1], "localhost") {
		return refuse("the URL's host is the machine itself")
	}
	for _, label := range labels {
		if !hostLabel(label) {
			return refuse("the URL's host is not a valid name; write international names in their xn-- form")
		}
	}
	if last := labels[len(labels)-1]; last[0] >= '0' && last[0] <= '9' {
		return refuse("the URL's host looks like a number but is not an IP address")
	}
	return nil
}

func hostLabel(label string) bool {
	if label == "" || len(label) > 63 || label[0] == '-' {
		return false
	}
	for _, c := range []byte(label) {
		letter := c|0x20 >= 'a' && c|0x20 <= 'z'
		if !letter && (c < '0' || c > '9') && c != '-' && c != '_' {
			return false
		}
	}
	return true
}

// Origin returns scheme://host:port of u in lower case, always with the port.
func Origin(u *url.URL) string {
	host := strings.ToLower(u.Hostname())
	if strings.Contains(host, ":") {
		host = "[" + host + "]"
	}
	return strings.ToLower(u.Scheme) + "://" + host + ":" + strconv.Itoa(port(u))
}

// ParseOrigin parses an origin from a configuration: scheme://host[:port], without a path or wildcard.
func ParseOrigin(text string) (string, error) {
	u, err := parse(text)
	if err != nil {
		return "", err
	}
	if (u.Path != "" && u.Path != "/") || u.RawQuery != "" || strings.Contains(u.Host, "*") {
		return "", refuse("an origin must be scheme://host:port only")
	}
	return Origin(u), nil
}
