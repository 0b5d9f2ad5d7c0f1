package app

import "github.com/labplatform/labplatform/pkg/mysqldb"

var (
	reconcileLock = mysqldb.Lock{Service: Name, Purpose: "reconcile"}
	purgeLock     = mysqldb.Lock{Service: Name, Purpose: "purge"}
	superviseLock = mysqldb.Lock{Service: Name, Purpose: "supervise"}
	rebuildLock   = mysqldb.Lock{Service: Name, Purpose: "rebuild"}
)

// Locks returns the locks of the service's loops and of the verb that must not run twice at the same time.
func Locks() []mysqldb.Lock {
	return []mysqldb.Lock{reconcileLock, purgeLock, superviseLock, rebuildLock}
}
