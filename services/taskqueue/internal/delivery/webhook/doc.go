// Package webhook sends webhook tasks and result callbacks: it builds and signs requests, selects one of two clients,
// limits the requests to each receiver, and classifies the responses.
//
// The public client only reaches public addresses (pkg/netguard). The internal client reaches exactly the configured
// origins, adds a fresh service token and x-is-internal-request, and is used only for jobs that an internal service
// enqueued; both are checked when the task is accepted and again at every delivery.
package webhook
