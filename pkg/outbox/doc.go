// Package outbox owns messages that must leave a service exactly when a change in the relational database is
// committed: Table.Insert writes the message in the transaction of the change, a Relay delivers it afterwards.
//
// Delivery is at least once, and in order of ids within one kind and aggregate. The receiver tells a repetition by
// Row.Key, which never changes. One relay per table works at a time, chosen by GET_LOCK, in whatever process.
//
//	waiting ──delivered──► row deleted
//	   │ ▲
//	   │ ├─ error: attempts + 1, available again after a delay that doubles; a panic counts as an error
//	   │ └─ Away: the receiver is not there; the row loses no attempt
//	   └─ Undeliverable: parked (kept, shown in outbox_parked_rows, never tried again on its own)
//
// Each kind is delivered by a goroutine of its own, so a receiver that is slow or not deployed delays no one else's
// messages. While a receiver is unavailable, one row asks for it after delays that double up to a minute; all other
// rows of its kind wait untouched. Rows of a kind that this process does not know wait for one that does.
//
// An operator releases a parked row with UPDATE … SET available_at = 0 WHERE id = …, or deletes it.
// While a row waits for another try, later rows of the same kind and aggregate wait too.
//
// An aggregate is something small, as a report or a bill, with tens of rows that wait at most. To find its first row
// the others are read: 20,000 rows that wait for one aggregate cost 0.4 s for each delivery, two hours in all.
//
// # For a new service
//
// Schema among the service's schemas, one Deliver for each kind, and in app: NewTable, NewMetrics, NewRelay, lifecycle
// Run(relay.Run). A use case calls Relay.Wake after its commit. A Deliver that calls a service ends with return
// outbox.Classify(err).
package outbox
