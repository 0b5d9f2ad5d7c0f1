// Package history reads the callout entries of the activity log, and the latest callout of each report.
package history

import (
	"context"
	"strings"
	"time"

	"github.com/labplatform/labplatform/pkg/apperr"
	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/pkg/distinct"
	"github.com/labplatform/labplatform/services/callout/internal/callout"
)

// Limits of a request and a response.
const (
	MaxIDs  = 500
	MaxLogs = 1000
)

// Entry is one line of the activity log about a callout.
type Entry struct {
	Meta     []byte // a JSON object
	UserName string
	Text     string
	At       time.Time
}

// Record is a completed callout. Its names are those at the time of the call; unknown ones are empty.
type Record struct {
	ID, ReportID    int64
	BillID          *int64
	Organization    string
	Patient         string
	Referral        string
	PerformedByUser string
	PerformedByDoc  string
	Comment         string
	CalloutMeta     []byte // JSON objects
	ValuesMeta      []byte
	Recipients      []string
	CreatedOn       time.Time
}

// Store reads the history.
type Store interface {
	// Logs returns the newest entries of category 648 (critical callouts) about the reports, at most most, oldest first.
	// If doctorID is not 0, only entries about bills that are assigned to the doctor now are returned.
	Logs(ctx context.Context, scope authn.LabScope, reportIDs []int64, doctorID int64, most int) ([]Entry, error)
	// Latest returns the last callout of each report by report id. If doctorID is not 0, only callouts on bills that were
	// assigned to the doctor at the time of the call are returned.
	Latest(ctx context.Context, scope authn.LabScope, reportIDs []int64, doctorID int64) (map[int64]Record, error)
}

// UseCase reads the history of a laboratory.
type UseCase struct{ store Store }

// New returns a use case that reads from s.
func New(s Store) *UseCase { return &UseCase{s} }

// Logs lists the history of the reports.
func (u *UseCase) Logs(
	ctx context.Context, scope authn.LabScope, v callout.Visibility, reportIDs []int64,
) ([]Entry, error) {
	doctorID, _ := v.OwnBills()
	if len(reportIDs) == 0 {
		return []Entry{}, nil
	}
	return u.store.Logs(ctx, scope, reportIDs, doctorID, MaxLogs)
}

// Latest returns the last callout of each report, in the order of the ids. Reports without a callout are omitted.
func (u *UseCase) Latest(
	ctx context.Context, scope authn.LabScope, v callout.Visibility, reportIDs []int64,
) ([]Record, error) {
	if err := CheckIDs("lab_report_ids", reportIDs); err != nil {
		return nil, err
	}
	records := []Record{}
	doctorID, _ := v.OwnBills()
	found, err := u.store.Latest(ctx, scope, distinct.Of(reportIDs), doctorID)
	if err != nil {
		return nil, err
	}
	for _, id := range distinct.Of(reportIDs) {
		if r, ok := found[id]; ok {
			records = append(records, r)
		}
	}
	return records, nil
}

// CheckIDs returns an error for an empty list, more than MaxIDs ids, or ids that are not positive.
func CheckIDs(name string, ids []int64) error {
	if len(ids) == 0 {
		return apperr.InvalidField(name, name+" is empty: give 1 to 500 report ids")
	}
	if len(ids) > MaxIDs {
		return apperr.InvalidField(name, name+" has more than 500 ids: ask for them in parts")
	}
	for _, id := range ids {
		if id <= 0 {
			return apperr.InvalidField(name, name+" must hold positive integers only")
		}
	}
	return nil
}

// ParseIDs parses a list such as "7001,7002". It accepts digits and commas only.
func ParseIDs(name, text string) ([]int64, error) {
	if text == "" {
		return nil, CheckIDs(name, nil)
	}
	const longest = 18 // any number with this many digits fits into int64
	var ids []int64
	for part := range strings.SplitSeq(text, ",") {
		if len(ids) >= MaxIDs {
			return nil, CheckIDs(name, make([]int64, MaxIDs+1))
		}
		var id int64
		if part == "" || len(part) > longest {
			return nil, errDigits(name)
		}
		for i := range len(part) {
			if part[i] < '0' || part[i] > '9' {
				return nil, errDigits(name)
			}
			id = id*10 + int64(part[i]-'0')
		}
		ids = append(ids, id)
	}
	return distinct.Of(ids), nil
}

func errDigits(name string) error {
	return apperr.InvalidField(name, name+" must be report ids with commas between, digits only, for example 7001,7002")
}
