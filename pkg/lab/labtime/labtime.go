// Package labtime handles times of a laboratory: its time zone, and the parsing of dates and times from users and
// programs.
package labtime

import (
	"context"
	"database/sql"
	"errors"
	"sync"
	"time"

	"github.com/labplatform/labplatform/pkg/authn"
)

// zones caches locations by name, because time.LoadLocation reads a file at each call. There are a few hundred.
var zones sync.Map

// Zone returns the location with this name, or UTC if it is unknown to this machine.
func Zone(name string) *time.Location {
	if known, ok := zones.Load(name); ok {
		return known.(*time.Location)
	}
	read, err := time.LoadLocation(name)
	if err != nil {
		return time.UTC
	}
	zones.Store(name, read)
	return read
}

// ZoneOf reads the time zone of a laboratory; it returns UTC if the laboratory or its zone is unknown.
func ZoneOf(ctx context.Context, db *sql.DB, lab authn.LabScope) (*time.Location, error) {
	var name string
	err := db.QueryRowContext(ctx, "SELECT timezone FROM labs WHERE id = ?", lab.LabID()).Scan(&name)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return nil, err
	}
	return Zone(name), nil
}

// Parse returns the first and the last second that an ISO 8601 text may mean: a date means the whole day, and a time
// without an offset is in zone. ok is false for other texts.
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
