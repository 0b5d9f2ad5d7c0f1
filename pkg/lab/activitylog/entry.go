package activitylog

import (
	"time"

	"github.com/labplatform/labplatform/pkg/authn"
)

// Category is the documented code of an event.
type Category int

// The codes in use. New codes must be added here first.
const (
	CriticalCallout      Category = 648 // a critical result was communicated, or a call was attempted
	RerunValuesReceived  Category = 979 // an instrument sent values of a repeated sample
	RerunValuesConfirmed Category = 980 // values of a rerun replaced those of the report
	RerunRequested       Category = 981
	RerunFailed          Category = 984 // a request could not be saved, or an unfinished rerun was archived
	RerunCancelled       Category = 985

	ExternalEditTakenOver Category = 986 // another user's editing session was ended and replaced
	ExternalEditRestored  Category = 987 // an earlier save became the report's files again
	ExternalEditEnded     Category = 988 // another user's editing session was ended

	BillSplit  Category = 990 // tests of a bill were moved to a new one; one entry for each of the two bills
	BillMerged Category = 991 // the tests were moved back

	CellCountReplaced Category = 994 // an observer's stored cell count was replaced; the meta contains the previous one
)

// Entry is one row of the log.
type Entry struct {
	Category Category
	Context  string // groups the codes of one area, such as SAMPLE_RERUN
	ReportID int64  // 0 if the entry concerns no report
	BillID   int64  // 0 if the entry concerns no bill
	Actor    authn.Actor
	Text     string // one sentence for users, without patient data
	Meta     any    // encoded as a JSON object; nil for NULL. Embed Change for the states before and after
	At       time.Time
}

// Change is the documented part of every meta: the states before and after. Embed it in the struct of the meta.
type Change[S any] struct {
	Old S `json:"old"`
	New S `json:"new"`
}
