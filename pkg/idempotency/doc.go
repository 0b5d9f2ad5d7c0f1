// Package idempotency makes a POST safe to repeat. It stores the caller's key, a hash of the request and the response.
// A request that is sent again after a lost response gets the same response, byte for byte, and changes nothing. Keys
// belong to a login, services share those of a laboratory; they are kept for a day, and are stored as hashes. A failed
// request stores no key, so it may be corrected and sent again with the same key.
//
// A Table stores them in the transaction of the change itself, so that either all of them are stored or none. The table
// belongs to the service and is named idempotency_<service>; the package creates it (see Schema). The service must call
// Table.Sweep regularly to delete expired keys. Responses stores them in the cache, for every other POST.
package idempotency
