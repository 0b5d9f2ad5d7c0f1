// Package migrations names the tables of the rerun service. It has none of its own beside the outbox: reruns are stored
// in tables of the platform's core.
package migrations

import (
	"github.com/labplatform/labplatform/pkg/mysqldb"
	"github.com/labplatform/labplatform/pkg/outbox"
)

// Schemas returns all tables of the service.
func Schemas() []mysqldb.Schema { return []mysqldb.Schema{outbox.Schema("rerun")} }
