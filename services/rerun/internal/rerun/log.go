package rerun

import "time"

// Category is the code of an activity log entry.
type Category int

// The documented codes, and ValuesReceived, which the platform knows already.
const (
	ValuesReceived  Category = 979
	ValuesConfirmed Category = 980
	RerunRequested  Category = 981
	RerunFailed     Category = 984
	RerunCancelled  Category = 985
)

// LogContext is the context of all entries of this area.
const LogContext = "SAMPLE_RERUN"

// Entry is a row of the activity log. Meta becomes JSON.
type Entry struct {
	Category Category
	Text     string
	Actor    Actor
	Meta     any
	At       time.Time
}

// Actor is who did it: a lab user, or the platform (-1).
type Actor struct {
	ID   int64
	Name string
}
