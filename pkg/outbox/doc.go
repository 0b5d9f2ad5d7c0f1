// Package outbox delivers messages that must leave a service exactly if a change in the relational database is
// committed. Table.Insert writes the message in the transaction of the change; a Relay delivers it afterwards.
//
// Delivery is at least once, and in the order of ids within one kind and aggregate. The receiver detects repetitions by
// Row.Key, which never changes. One relay per table is active at a time; the processes elect it with GET_LOCK.
//
//	waiting ──delivered──► row deleted
//	   │ ▲
//	   │ ├─ error or panic: attempts + 1, due again after a delay that doubles
//	   │ └─ ReceiverUnavailable: attempts unchanged, the whole kind waits
//	   └─ Undeliverable: parked (kept, counted in outbox_parked_rows, not retried)
//
// Each kind is delivered by its own goroutine, so a slow or missing receiver does not delay messages of other kinds.
// While a receiver is unavailable, one row probes it after delays that double up to a minute; all other rows of its
// kind wait unchanged. Rows of a kind that this process does not know stay for a newer version.
//
// An operator releases a parked row with UPDATE … SET available_at = 0 WHERE id = …, or deletes it. While a row waits
// for a retry, later rows of the same kind and aggregate wait too.
//
// An aggregate must be small, such as a report or a bill, with tens of waiting rows at most. Finding its first row
// reads the others: 20,000 waiting rows of one aggregate cost 0.4 s per delivery, two hours in total.
//
// # Use in a service
//
// Add Schema to the service's schemas, write one Deliver per kind, and call NewTable, NewMetrics, NewRelay and
// lifecycle Run(relay.Run) in app. Use cases call Relay.Wake after their commit. A Deliver that calls a service must
// end with return outbox.Classify(err).
package outbox
