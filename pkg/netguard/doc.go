// Package netguard owns HTTP exchanges with URLs that someone else wrote: it refuses every address that is not
// public on the very socket that is dialled (after resolution, so rebinding and literal spellings are covered),
// follows no redirect, takes no proxy from the environment, and caps time, headers and body.
//
// A Client from New reaches public addresses and the exempted hosts; one from NewTrusted reaches an exact list
// of origins and nothing else. The caller closes idle connections with Close.
package netguard
