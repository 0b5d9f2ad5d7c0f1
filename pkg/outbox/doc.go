// Package outbox owns messages that must leave a service exactly when a change in the relational database is
// committed: Insert writes the message in the transaction of the change, a Relay delivers it afterwards.
//
// Delivery is at least once and in order of ids within one aggregate. The receiver tells a repetition by the
// row's Key, which never changes. One relay per table works at a time, chosen by GET_LOCK, in whatever process.
//
//	waiting ──delivered──► row deleted
//	   │ ▲
//	   │ └─ error: attempts + 1, available again after a delay that doubles
//	   └─ Undeliverable: parked (kept, shown in outbox_parked_rows, never tried again on its own)
//
// An operator releases a parked row with UPDATE … SET available_at = 0 WHERE id = …, or deletes it.
// While a row waits for another try, later rows of the same aggregate wait too; those of others go on.
package outbox
