package reportformat

import (
	"database/sql"
	"time"
)

// CollectionDay is the day of collection in the laboratory's zone; a sample without a time was taken today.
func CollectionDay(collected sql.NullTime, now time.Time, zone string) time.Time {
	at := now
	if collected.Valid {
		at = collected.Time
	}
	location, err := time.LoadLocation(zone)
	if err != nil {
		location = time.UTC
	}
	return at.In(location)
}
