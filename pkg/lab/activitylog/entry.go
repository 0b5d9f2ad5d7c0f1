package activitylog

import (
	"time"

	"github.com/labplatform/labplatform/pkg/authn"
)

// Entry is one row of the log.
type Entry struct {
	Category Category
	Context  string // groups the codes of one area, like SAMPLE_RERUN
	ReportID int64  // 0: about no report
	BillID   int64  // 0: about no bill
	Actor    authn.Actor
	Text     string // one sentence for people; no values of patients
	Meta     any    // becomes JSON; nil is NULL. Embed Change for the state before and after
	At       time.Time
}

// Change is the documented part of every meta: the state before and after. Embed it in the meta's own struct.
type Change[S any] struct {
	Old S `json:"old"`
	New S `json:"new"`
}
