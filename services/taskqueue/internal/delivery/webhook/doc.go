// Package webhook owns the sending of webhook tasks and result callbacks: what the request looks like, its
// signature, through which of two clients it goes, how hosts are protected from us and we from hosts, and which
// answers are worth another try.
//
// The public client reaches public addresses only (pkg/netguard). The internal client reaches exactly the
// configured origins, adds a fresh service token and x-is-internal-request, and is used only for jobs that an
// internal service enqueued; both are checked when the task is accepted and again at every delivery.
package webhook
