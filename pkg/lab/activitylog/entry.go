package activitylog

import (
	"time"

	"github.com/labplatform/labplatform/pkg/authn"
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
