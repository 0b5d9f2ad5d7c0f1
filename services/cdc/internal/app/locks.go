package app

import "github.com/labplatform/labplatform/pkg/mysqldb"

var (
	reconcileLock = mysqldb.Lock{Service: Name, Purpose: "reconcile", Previous: "reconcile"}
	purgeLock     = mysqldb.Lock{Service: Name, Purpose: "purge", Previous: "purge"}
	superviseLock = mysqldb.Lock{Service: Name, Purpose: "supervise", Previous: "supervise_connectors"}
	rebuildLock   = mysqldb.Lock{Service: Name, Purpose: "rebuild", Previous: "rebuild"}
)

// Locks are those of the service's loops, and of the verb that may run once at a time.
func Locks() []mysqldb.Lock {
	return []mysqldb.Lock{reconcileLock, purgeLock, superviseLock, rebuildLock}
}
