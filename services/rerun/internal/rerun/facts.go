package rerun

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"time"

	"github.com/labplatform/labplatform/pkg/lab/activitylog"
)

// Wants selects the facts that a use case needs. The report and Unconfirmed are always read.
type Wants struct{ Tests, Ledger, Archived, Results bool }

// Facts holds what the database contains about a report.
type Facts struct {
	Report      Report
	Unconfirmed Unconfirmed
	Tests       Tests
	Ledger      Ledger
	Archived    map[string]bool // ids of documents that are archived in log entries
	Results     []Result
}

// Unconfirmed identifies the set of unconfirmed values that was last sent to the callout service.
type Unconfirmed struct {
	AsOf   time.Time // increases with each change of the set; zero before the first one
	Digest string    // digest of the values; empty without values
}

// Change holds the changes to make in the database. The zero value changes nothing.
type Change struct {
	Flag            *Flag
	Unsign          bool     // clear the signature
	Gone, Confirmed []Result // rows of the report to delete, and rows to insert
	Entry           *activitylog.Entry
	Announce        *Announcement
	Evaluate        bool // request an evaluation of the report from the callout service
}

// Announcement is the new set of unconfirmed values, to be sent to the callout service.
type Announcement struct {
	Unconfirmed

	Values []Value // with their tests
}

// Writes holds the changes to make in the document store, in the order of the fields. Documents to delete or change may
// be missing.
type Writes struct {
	DeleteValues, DeleteRecords []string // values go first, so that no value outlives its record
	Retire                      []string // records that give up the open and the automatic slot
	Close                       []string // records that give up the open slot
	Reopen                      []string // records that take the open slot again
	Record                      *Record  // ErrDuplicate if a slot or the number is taken
	Insert                      []Value  // ErrDuplicate if one is stored already; others may have been added then
	Replace                     []Value
}

// Announce returns the message about the values that the report has after a change, or nil if the same set was sent
// last. A report without an open rerun has no unconfirmed values. AsOf is in whole milliseconds, because clients keep
// no more, and exceeds the time of the newest value, so that a page with a part of a message's values counts as older.
func (f Facts) Announce(values []Value, open bool, now time.Time) *Announcement {
	a := &Announcement{}
	next := f.Unconfirmed.AsOf.Add(time.Millisecond)
	if open {
		for _, v := range values {
			if id, ok := f.Tests.OfValue(v); ok {
				v.TestID, v.TestKnown = id, true
			}
			a.Values = append(a.Values, v)
			next = later(next, v.CreatedAt.Add(2*time.Millisecond))
		}
		slices.SortFunc(a.Values, func(v, o Value) int {
			return cmp.Or(cmp.Compare(v.Number, o.Number), cmp.Compare(v.Index, o.Index))
		})
		a.Digest = digest(a.Values)
	}
	if a.Digest == f.Unconfirmed.Digest {
		return nil
	}
	a.AsOf = later(next, now).UTC().Truncate(time.Millisecond)
	return a
}

// ChangedAt returns when the values last changed: the time of the last message to the callout service or, if no message
// followed the newest value because its transaction is running or its process crashed, just after that value.
func (f Facts) ChangedAt(values []Value) time.Time {
	at := f.Unconfirmed.AsOf
	for _, v := range values {
		if !v.CreatedAt.Before(f.Unconfirmed.AsOf) {
			at = later(at, v.CreatedAt.Add(time.Millisecond))
		}
	}
	return at.UTC().Truncate(time.Millisecond)
}

func later(a, b time.Time) time.Time {
	if a.Before(b) {
		return b
	}
	return a
}

func digest(values []Value) string {
	if len(values) == 0 {
		return ""
	}
	sum := sha256.New()
	for _, v := range values {
		fmt.Fprintf(sum, "%d %d %d %t %q %q %q %d\n", v.Number, v.Index, v.TestID, v.TestKnown, v.ParameterName, v.Value, v.DeviceID,
			v.CreatedAt.UnixMilli())
	}
	return hex.EncodeToString(sum.Sum(nil)[:16])
}
