// Package labtime handles times of a laboratory: its time zone, and the parsing of dates and times from users and
// programs.
package labtime

import (
	"context"
	"database/sql"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"time"
	_ "time/tzdata" // slim images have no zone files, and without them no zone would be known

	"github.com/labplatform/labplatform/pkg/authn"
)

// DefaultZone is the zone that the platform gives a new laboratory.
const DefaultZone = "Asia/Kolkata"

// zones caches locations by requested name, nil for unknown names, because time.LoadLocation reads a file at each call.
// The names are settings of laboratories, so there are few.
var zones sync.Map

// Zone returns the IANA location with this name. ok is false for a name that is not in the zone database, such as "IST"
// or "India Standard Time", and for "" and "Local". Surrounding spaces are ignored. A name in the wrong case is
// resolved if title case or upper case makes a known one ("asia/kolkata", "utc"): names of the database differ in more
// than case.
func Zone(name string) (zone *time.Location, ok bool) {
	if known, found := zones.Load(name); found {
		zone = known.(*time.Location)
		return zone, zone != nil
	}
	zone = load(strings.TrimSpace(name))
	zones.Store(name, zone)
	return zone, zone != nil
}

func load(name string) *time.Location {
	if name == "" || strings.EqualFold(name, "local") {
		return nil // time.LoadLocation returns special zones for these
	}
	for _, spelling := range [...]string{titleCase(name), strings.ToUpper(name), name} {
		if zone, err := time.LoadLocation(spelling); err == nil {
			return zone
		}
	}
	return nil
}

// titleCase returns "America/New_York" for "america/NEW_YORK". Words that the database writes in lower case stay so.
func titleCase(name string) string {
	lower := []byte(strings.ToLower(name))
	start := 0
	for i := range len(lower) + 1 {
		if i < len(lower) && !strings.ContainsRune("/_-", rune(lower[i])) {
			continue
		}
		switch word := lower[start:i]; string(word) {
		case "", "of", "es", "au":
		default:
			word[0] = strings.ToUpper(string(word[:1]))[0]
		}
		start = i + 1
	}
	return string(lower)
}

// Default returns the location of DefaultZone. India has had one offset since 1945.
func Default() *time.Location {
	return time.FixedZone(DefaultZone, int((5*time.Hour + 30*time.Minute).Seconds()))
}

// warned holds the ids of the laboratories whose zone was logged as unknown.
var warned sync.Map

// ZoneOf reads the time zone of a laboratory for lists and filters of dates. If the laboratory or its zone is unknown,
// the result is Default, and the process logs it once for each laboratory. An evaluation of results uses Zone instead,
// because a wrong day there selects a wrong age band.
func ZoneOf(ctx context.Context, db *sql.DB, lab authn.LabScope) (*time.Location, error) {
	var name string
	err := db.QueryRowContext(ctx, "SELECT timezone FROM labs WHERE id = ?", lab.LabID()).Scan(&name)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return nil, err
	}
	zone, ok := Zone(name)
	if ok {
		return zone, nil
	}
	if _, again := warned.LoadOrStore(lab.LabID(), true); !again {
		slog.WarnContext(ctx, "unknown time zone of laboratory, using the default; set labs.timezone to an IANA name",
			"lab_id", lab.LabID(), "timezone", name, "default", DefaultZone)
	}
	return Default(), nil
}

// Parse returns the first and the last second that an ISO 8601 text may mean: a date means the whole day, and a time
// exactly that moment, in zone if it has no offset. ok is false for other texts.
func Parse(text string, zone *time.Location) (begin, end time.Time, ok bool) {
	if day, err := time.ParseInLocation(time.DateOnly, text, zone); err == nil {
		return day, day.AddDate(0, 0, 1).Add(-time.Second), true
	}
	for _, layout := range []string{time.RFC3339Nano, "2006-01-02T15:04:05.999999999", "2006-01-02T15:04", time.DateTime} {
		if at, err := time.ParseInLocation(layout, text, zone); err == nil {
			return at, at, true
		}
	}
	return time.Time{}, time.Time{}, false
}
