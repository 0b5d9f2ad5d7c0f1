package reportformat

import (
	"database/sql"
	"log/slog"
	"sync"
	"time"

	"github.com/labplatform/labplatform/pkg/lab/labtime"
)

// BirthDate is the birth date of a patient u for sql.NullTime, NULL if the month or the day is unknown: old rows hold
// dates such as 1990-00-00, which the driver would return as 1989-11-30, a wrong age.
const BirthDate = "IF(MONTH(u.dateOfBirth) > 0 AND DAYOFMONTH(u.dateOfBirth) > 0, u.dateOfBirth, NULL)"

// clockTolerance is how far the clock of the program that stored a collection time may be ahead of this one.
const clockTolerance = 24 * time.Hour

// unknownZones holds the names of zones that were logged.
var unknownZones sync.Map

// CollectionDay returns the day of collection in the laboratory's time zone; a sample without a time counts as
// collected now. The result is zero, and clinical.Select then treats the patient's age as unknown, if the zone is
// unknown or the collection is more than a day in the future. An unknown zone is logged once by each process.
func CollectionDay(collected sql.NullTime, now time.Time, zone string) time.Time {
	at := now
	if collected.Valid {
		at = collected.Time
	}
	location, ok := labtime.Zone(zone)
	if !ok {
		if _, again := unknownZones.LoadOrStore(zone, true); !again {
			slog.Warn("unknown time zone, ages are unknown; set labs.timezone to an IANA name", "timezone", zone)
		}
		return time.Time{}
	}
	if at.Sub(now) > clockTolerance {
		return time.Time{}
	}
	return at.In(location)
}
