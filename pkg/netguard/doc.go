// Package netguard sends HTTP requests to URLs that external callers have supplied. It refuses every address that is
// not public when the socket is connected, after name resolution, so that DNS rebinding and unusual notations cannot
// bypass the check. It follows no redirects, uses no proxy from the environment, and limits time, headers and body.
//
// A Client from New reaches public addresses and the exempted hosts; one from NewTrusted reaches an exact list of
// origins. The caller must close a client.
package netguard
