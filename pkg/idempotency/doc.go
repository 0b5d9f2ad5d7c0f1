// Package idempotency owns what makes a POST safe to repeat: a caller's key, a hash of the request and the answer, in
// the transaction of the change itself. The change and its answer are there together or not at all, so that a request
// which is sent again after a lost answer gets that answer, byte for byte, and changes nothing.
//
// The table is the service's own, idempotency_<service>; the package makes it, see Schema. Keys belong to a
// laboratory, live a day, and are remembered as hashes. A failed request leaves no key: it may be corrected and sent
// again under the same one. The service sweeps old keys with Table.Sweep from a loop of its own.
package idempotency
