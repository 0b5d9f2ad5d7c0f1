package storetest

import (
	"fmt"
	"strings"
	"time"

	"github.com/labplatform/labplatform/services/callout/internal/callout"
	"github.com/labplatform/labplatform/services/callout/internal/save"
)

// Everything is the visibility of support.
var Everything = callout.Visibility{Rule: callout.Everything}

// Judged evaluates reports on request and returns their ids and statuses as text.
func (b *Fixture) Judged(lab int64, reports ...int64) string {
	b.T.Helper()
	results, err := b.Evaluate.Reports(b.T.Context(), Lab(b.T, lab), reports, callout.Event{Named: true})
	b.Must(err)
	var text []string
	for _, r := range results {
		text = append(text, fmt.Sprintf("%d %v", r.ReportID, r.Status))
	}
	return strings.Join(text, ", ")
}

// Enter saves a value of a report of laboratory 12, evaluates the report, and returns its status.
func (b *Fixture) Enter(report int64, index int, value string) string {
	b.T.Helper()
	b.SetValue(report, index, value)
	_, status, _ := strings.Cut(b.Judged(12, report), " ")
	return status
}

// Record saves a callout by telephone. It counts as read back unless c states otherwise.
func (b *Fixture) Record(c save.Callout) error {
	b.T.Helper()
	if c.BillID == 0 {
		c.BillID = Bill
	}
	if c.ReadBack == nil {
		yes := true
		c.ReadBack = &yes
	}
	c.Recipients, c.Methods, c.Person = []string{"Referral Doctor"}, []string{"call"}, "Dr Rao"
	_, err := b.Save.Save(b.T.Context(), Lab(b.T, 12), Asha, c)
	return err
}

// Pass advances the clock by d and runs the reaper every minute.
func (b *Fixture) Pass(d time.Duration) {
	b.T.Helper()
	for ; d > 0; d -= time.Minute {
		b.Clock.Advance(min(d, time.Minute))
		b.Must(b.Reaper.RunOnce(b.T.Context()))
	}
}

// Must fails the test on an error.
func (b *Fixture) Must(err error) {
	b.T.Helper()
	if err != nil {
		b.T.Fatal(err)
	}
}

// Want fails the test unless got and want have the same printed form.
func (b *Fixture) Want(what string, got, want any) {
	b.T.Helper()
	if fmt.Sprint(got) != fmt.Sprint(want) {
		b.T.Fatalf("%s: %v, want %v", what, got, want)
	}
}

// Notices returns the kind of each notification in the outbox.
func (b *Fixture) Notices() (keys []string) {
	for _, e := range b.Sent() {
		if e.Kind == "notifications.notify" {
			keys = append(keys, strings.Split(e.DedupeKey, ":")[0])
		}
	}
	return keys
}

// Due describes the escalation of a report, or returns "closed".
func (b *Fixture) Due(report int64) string {
	b.T.Helper()
	open, err := b.Worklist.Open(b.T.Context(), Lab(b.T, 12), Everything)
	b.Must(err)
	for _, item := range open.Items {
		switch {
		case item.Report.ID != report:
		case item.DueAt.IsZero():
			return fmt.Sprintf("level %d, last", item.Level)
		default:
			return fmt.Sprintf("level %d, due %s", item.Level, item.DueAt.Format(time.TimeOnly))
		}
	}
	return "closed"
}

// Pending enters a critical potassium value, so that the report waits.
func (b *Fixture) Pending() {
	b.T.Helper()
	b.SetValue(Potassium, PotassiumIndex, "7.1")
	b.Want("evaluated", b.Judged(12, Potassium), "7001 CALLOUT_PENDING")
}

// Listed describes the critical records of the bill, each with its first value.
func (b *Fixture) Listed(v callout.Visibility) (text []string) {
	b.T.Helper()
	list, err := b.List.List(b.T.Context(), Lab(b.T, 12), Bill, v)
	b.Must(err)
	for _, r := range list.Records {
		text = append(text, fmt.Sprintf("%d %v %s", r.Report.ID, r.Report.Status, r.Critical[0].RawValue))
	}
	return text
}

// Lines returns the texts of a report's history.
func (b *Fixture) Lines(report int64) (texts []string) {
	b.T.Helper()
	logs, err := b.History.Logs(b.T.Context(), Lab(b.T, 12), Everything, []int64{report})
	b.Must(err)
	for _, l := range logs {
		texts = append(texts, l.Text)
	}
	return texts
}
