package reportformat

import (
	"database/sql"
	"time"

	"github.com/labplatform/labplatform/pkg/lab/labtime"
)

// CollectionDay is the day of collection in the laboratory's zone; a sample without a time was taken today.
func CollectionDay(collected sql.NullTime, now time.Time, zone string) time.Time {
	at := now
	if collected.Valid {
		at = collected.Time
	}
	return at.In(labtime.Zone(zone))
}
