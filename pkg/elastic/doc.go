// Package elastic is the client of the search engine: timeouts, a bounded connection pool, typed errors, traces, and
// retries of idempotent requests.
//
// It retries only requests that are marked as idempotent: after a failed bulk, only the caller knows which items still
// have to be sent. It never prints the engine's reason for an error, because the reason may quote documents and
// queries; Error prints only the endpoint, the status and the types.
package elastic
