package reportformat

import (
	"database/sql"
	"time"

	"github.com/labplatform/labplatform/pkg/lab/labtime"
)

// CollectionDay returns the day of collection in the laboratory's time zone; a sample without a time counts as
// collected now.
func CollectionDay(collected sql.NullTime, now time.Time, zone string) time.Time {
	at := now
	if collected.Valid {
		at = collected.Time
	}
	return at.In(labtime.Zone(zone))
}
