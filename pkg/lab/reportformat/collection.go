package reportformat

import (
	"database/sql"
	"sync"
	"time"
)

// CollectionDay is the day of collection in the laboratory's zone; a sample without a time was taken today.
func CollectionDay(collected sql.NullTime, now time.Time, zone string) time.Time {
	at := now
	if collected.Valid {
		at = collected.Time
	}
	return at.In(location(zone))
}

// locations are the zones that were read, by name: time.LoadLocation reads a file with each call, and a list has
// hundreds of reports. There are some hundred zones.
var locations sync.Map

// location is UTC when this machine does not know the zone.
func location(zone string) *time.Location {
	if known, ok := locations.Load(zone); ok {
		return known.(*time.Location)
	}
	read, err := time.LoadLocation(zone)
	if err != nil {
		return time.UTC
	}
	locations.Store(zone, read)
	return read
}
