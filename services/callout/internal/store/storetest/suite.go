package storetest

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/labplatform/labplatform/pkg/apperr"
	"github.com/labplatform/labplatform/services/callout/internal/callout"
	"github.com/labplatform/labplatform/services/callout/internal/save"
)

// Run tests the stores that open makes, a fresh one for each test.
func Run(t *testing.T, open func(*testing.T, *Clock) Backend) {
	t.Helper()
	for name, test := range map[string]func(*Bench){
		"a critical value waits and is announced once":               announced,
		"other laboratories and unknown bills":                       scoped,
		"a callout ends the wait":                                    called,
		"a draft and a callout never exist together":                 drafts,
		"only another critical value opens a callout again":          reopened,
		"a corrected value ends the wait":                            corrected,
		"an unclear value changes nothing":                           unclear,
		"each deadline is raised once":                               raised,
		"a callout stops the clock, a second report keeps it":        clocks,
		"reports that others set to wait are adopted":                adopted,
		"dismissed and moved reports":                                ghosts,
		"forgotten reports are found":                                forgotten,
		"a repeated value needs no call when the laboratory says so": repeated,
		"who sees what":                visibility,
		"the worklist and the figures": figures,
		"writers at once":              race,
		"an error changes nothing":     refused,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := NewClock()
			test(NewBench(t, open(t, c), c))
		})
	}
}

var everything = callout.Visibility{Rule: callout.Everything}

func (b *Bench) evaluate(lab int64, reports ...int64) string {
	b.T.Helper()
	results, err := b.Evaluate.Reports(b.T.Context(), Lab(b.T, lab), reports)
	if err != nil {
		b.T.Fatal(err)
	}
	var text []string
	for _, r := range results {
		text = append(text, fmt.Sprintf("%d %v", r.ReportID, r.Status))
	}
	return strings.Join(text, ", ")
}

func (b *Bench) save(c save.Callout) error {
	b.T.Helper()
	if c.BillID == 0 {
		c.BillID = Bill
	}
	c.Recipients, c.Methods = []string{"Referral Doctor"}, []string{"call"}
	_, err := b.Save.Save(b.T.Context(), Lab(b.T, 12), Asha, c)
	return err
}

func (b *Bench) must(err error) {
	b.T.Helper()
	if err != nil {
		b.T.Fatal(err)
	}
}

func (b *Bench) want(what string, got, want any) {
	b.T.Helper()
	if fmt.Sprint(got) != fmt.Sprint(want) {
		b.T.Fatalf("%s: %v, want %v", what, got, want)
	}
}

// notices are the keys of the notifications that were sent.
func (b *Bench) notices() (keys []string) {
	for _, e := range b.Sent() {
		if e.Kind == "notifications.notify" {
			keys = append(keys, strings.Split(e.DedupeKey, ":")[0])
		}
	}
	return keys
}

func (b *Bench) clock(bill int64) string {
	b.T.Helper()
	e, err := b.Escalation(b.T.Context(), Lab(b.T, 12), bill)
	b.must(err)
	if !e.Open {
		return "closed"
	}
	if e.DueAt.IsZero() {
		return fmt.Sprintf("level %d, last", e.Level)
	}
	return fmt.Sprintf("level %d, due %s", e.Level, e.DueAt.Format(time.TimeOnly))
}

func (b *Bench) pending() {
	b.T.Helper()
	b.SetValue(Potassium, PotassiumIndex, "7.1")
	b.want("evaluated", b.evaluate(12, Potassium), "7001 CALLOUT_PENDING")
}

func (b *Bench) listed(v callout.Visibility) (text []string) {
	b.T.Helper()
	list, err := b.List.List(b.T.Context(), Lab(b.T, 12), Bill, v)
	b.must(err)
	for _, r := range list.Records {
		text = append(text, fmt.Sprintf("%d %v %s", r.Report.ID, r.Report.Status, r.Critical[0].RawValue))
	}
	return text
}

func announced(b *Bench) {
	b.SetValue(Potassium, PotassiumIndex, "7.1")
	b.want("before", b.listed(everything), "[]")
	for range 3 {
		b.want("evaluated", b.evaluate(12, Potassium, Count, 999), "7001 CALLOUT_PENDING, 7002 NORMAL")
	}
	b.want("listed", b.listed(everything), "[7001 CALLOUT_PENDING 7.1]")
	b.want("notices", b.notices(), "[pending]")
	b.want("clock", b.clock(Bill), "level 0, due 09:30:00")
	b.SetValue(Potassium, PotassiumIndex, "7.4")
	b.want("another critical value while it waits", b.evaluate(12, Potassium), "7001 CALLOUT_PENDING")
	b.want("notices", b.notices(), "[pending]")
}

func scoped(b *Bench) {
	b.SetValue(Foreign, PotassiumIndex, "7.1")
	b.want("another laboratory's report", b.evaluate(12, Foreign), "")
	_, err := b.List.List(b.T.Context(), Lab(b.T, 12), ForeignBill, everything)
	b.want("another laboratory's bill", apperr.KindOf(err), apperr.NotFound)
	_, err = b.Evaluate.Bill(b.T.Context(), Lab(b.T, 12), ForeignBill)
	b.want("evaluate it", apperr.KindOf(err), apperr.NotFound)
	b.want(
		"save on it",
		apperr.KindOf(b.save(save.Callout{BillID: ForeignBill, ReportIDs: []int64{Foreign}})),
		apperr.NotFound,
	)
	b.want("save another bill's report", apperr.KindOf(b.save(save.Callout{ReportIDs: []int64{Second}})), apperr.Invalid)
	b.want("their own", b.evaluate(13, Foreign), "7100 CALLOUT_PENDING")
}

func called(b *Bench) {
	b.pending()
	b.Clock.Move(10 * time.Minute)
	b.must(b.save(save.Callout{ReportIDs: []int64{Potassium}}))
	b.want("listed", b.listed(everything), "[7001 CALLOUT_DONE 7.1]")
	b.want("clock", b.clock(Bill), "closed")
	b.want("again", apperr.KindOf(b.save(save.Callout{ReportIDs: []int64{Potassium}})), apperr.Conflict)
	b.must(b.save(save.Callout{ReportIDs: []int64{Potassium}, Force: true}))
	b.SetValue(Potassium, PotassiumIndex, "4.0")
	latest, err := b.History.Latest(b.T.Context(), Lab(b.T, 12), everything, []int64{Count, Potassium, Potassium})
	b.must(err)
	b.want("callouts", len(latest), 1)
	told, ok := callout.ReadSnapshot(latest[0].ValuesMeta, Potassium)
	b.want(
		"what was said stays",
		fmt.Sprintf("%v %s %s", ok, told.Parameters[0].RawValue, told.Parameters[0].CriticalRange),
		"true 7.1 < 2.5 or > 6.5",
	)
	logs, err := b.History.Logs(b.T.Context(), Lab(b.T, 12), everything, []int64{Potassium})
	b.must(err)
	b.want("history", len(logs), 2)
	for doctor, want := range map[int64]string{301: "1 2 1", 302: "0 0 0"} { // the bill is doctor 301's
		own := callout.Visibility{Rule: callout.DoctorBills, PersonID: doctor}
		latest, err := b.History.Latest(b.T.Context(), Lab(b.T, 12), own, []int64{Count, Potassium})
		b.must(err)
		logs, err := b.History.Logs(b.T.Context(), Lab(b.T, 12), own, []int64{Potassium})
		b.must(err)
		sum, err := b.Worklist.Summary(b.T.Context(), Lab(b.T, 12), own, "", "")
		b.must(err)
		b.want(fmt.Sprint("told to doctor ", doctor), fmt.Sprint(len(latest), len(logs), sum.Called), want)
	}
	b.want("not critical", apperr.KindOf(b.save(save.Callout{ReportIDs: []int64{Count}})), apperr.Conflict)
}

func drafts(b *Bench) {
	b.pending()
	for _, comment := range []string{"first", "second"} {
		b.must(b.save(save.Callout{Draft: true, ReportIDs: []int64{Potassium}, Comment: comment}))
	}
	view, err := b.View(b.T.Context(), Lab(b.T, 12), Bill, everything)
	b.must(err)
	b.want("the draft", view.Draft.Comment, "second")
	b.want("listed", b.listed(everything), "[7001 CALLOUT_ATTEMPTED 7.1]")
	b.want("clock", b.clock(Bill), "level 0, due 09:30:00")
	b.must(b.save(save.Callout{ReportIDs: []int64{Potassium}}))
	view, err = b.View(b.T.Context(), Lab(b.T, 12), Bill, everything)
	b.must(err)
	b.want("no draft", view.Draft == nil, true)
	b.want(
		"draft of what is done",
		apperr.KindOf(b.save(save.Callout{Draft: true, ReportIDs: []int64{Potassium}, Force: true})),
		apperr.Conflict,
	)
}

func reopened(b *Bench) {
	b.pending()
	b.must(b.save(save.Callout{ReportIDs: []int64{Potassium}}))
	for _, step := range []struct{ value, want string }{
		{"7.1", "7001 CALLOUT_DONE"}, {"4.0", "7001 CALLOUT_DONE"}, {"7.1", "7001 CALLOUT_DONE"},
		{"1.9", "7001 CALLOUT_PENDING"},
	} {
		b.SetValue(Potassium, PotassiumIndex, step.value)
		b.want(step.value, b.evaluate(12, Potassium), step.want)
	}
	b.want("notices", b.notices(), "[pending pending]")
	b.SetStatus(Count, callout.Done)
	b.SetValue(Count, CountIndex, "5")
	b.want("done without a record of ours", b.evaluate(12, Count), "7002 CALLOUT_DONE")
}

func corrected(b *Bench) {
	b.pending()
	b.must(b.save(save.Callout{Draft: true, ReportIDs: []int64{Potassium}}))
	b.SetValue(Potassium, PotassiumIndex, "5.5")
	b.want("evaluated", b.evaluate(12, Potassium), "7001 ABNORMAL")
	b.want("clock", b.clock(Bill), "closed")
	b.SetValue(Potassium, PotassiumIndex, "4.5")
	b.want("evaluated", b.evaluate(12, Potassium), "7001 NORMAL")
	b.SetValue(Potassium, PotassiumIndex, "7")
	b.want("evaluated", b.evaluate(12, Potassium), "7001 CALLOUT_PENDING")
	b.want("notices", b.notices(), "[pending pending]")
}

func unclear(b *Bench) {
	b.want("no values", b.evaluate(12, Potassium), "7001 NORMAL")
	b.pending()
	for _, value := range []string{"****", "<7", "", "TNP"} {
		b.SetValue(Potassium, PotassiumIndex, value)
		b.want(value, b.evaluate(12, Potassium), "7001 CALLOUT_PENDING")
	}
	b.SetValue(Count, UnlimitedIndex, "odd")
	b.SetValue(Count, CountIndex, "14")
	b.want("a parameter without critical limits does not matter", b.evaluate(12, Count), "7002 NORMAL")
}

func raised(b *Bench) {
	b.pending()
	raise := func() int {
		level, err := b.Escalate.Bill(b.T.Context(), Lab(b.T, 12), Bill)
		b.must(err)
		return level
	}
	b.Clock.Move(30*time.Minute - time.Millisecond)
	b.want("before the deadline", raise(), 0)
	b.Clock.Move(time.Millisecond)
	b.want("at the deadline", raise(), 1)
	b.want("again", raise(), 0)
	b.must(b.Reaper.RunOnce(b.T.Context()))
	b.want("clock", b.clock(Bill), "level 1, due 10:00:00")
	b.Clock.Move(time.Hour)
	b.must(b.Reaper.RunOnce(b.T.Context()))
	b.want("the reaper raises what no job did", b.clock(Bill), "level 2, last")
	b.Clock.Move(time.Hour)
	b.must(b.Reaper.RunOnce(b.T.Context()))
	b.want("notices", b.notices(), "[pending escalation escalation]")
	logs, err := b.History.Logs(b.T.Context(), Lab(b.T, 12), everything, []int64{Potassium})
	b.must(err)
	b.want("history", len(logs), 2)
	b.must(b.save(save.Callout{ReportIDs: []int64{Potassium}}))
	b.want("clock", b.clock(Bill), "closed")
}

func clocks(b *Bench) {
	b.Setting(12, 5, 0)
	b.pending()
	b.want("the laboratory's own pace", b.clock(Bill), "level 0, due 09:05:00")
	b.Clock.Move(time.Minute)
	b.SetValue(Count, CountIndex, "5")
	b.want("evaluated", b.evaluate(12, Count), "7002 CALLOUT_PENDING")
	b.want("the earliest result sets the deadline", b.clock(Bill), "level 0, due 09:05:00")
	b.must(b.save(save.Callout{ReportIDs: []int64{Potassium}}))
	b.want("one still waits", b.clock(Bill), "level 0, due 09:05:00")
	b.must(b.save(save.Callout{ReportIDs: []int64{Count}}))
	b.want("none waits", b.clock(Bill), "closed")
}

func adopted(b *Bench) {
	b.SetValue(Potassium, PotassiumIndex, "7.1")
	b.SetStatus(Potassium, callout.Pending)
	b.SetStatus(Count, callout.Attempted) // without any value: unclear
	b.must(b.Reaper.RunOnce(b.T.Context()))
	b.want("clock", b.clock(Bill), "level 0, due 09:30:00")
	b.want("who set the state has announced it", b.notices(), "[]")
	b.want("job", b.Jobs.Bills, "map[400:true]")
	b.must(b.Reaper.RunOnce(b.T.Context()))
	open, err := b.Worklist.Open(b.T.Context(), Lab(b.T, 12), everything)
	b.must(err)
	b.want("worklist", len(open.Items), 2)
}

func ghosts(b *Bench) {
	b.pending()
	b.MoveToBill(Potassium, SecondBill)
	b.must(b.Reaper.RunOnce(b.T.Context()))
	b.must(b.Reaper.RunOnce(b.T.Context()))
	b.want("the old bill", b.clock(Bill), "closed")
	b.want("the new bill", b.clock(SecondBill), "level 0, due 09:30:00")
	b.Dismiss(Potassium)
	b.must(b.Reaper.RunOnce(b.T.Context()))
	b.want("dismissed", b.clock(SecondBill), "closed")
	b.SetStatus(Count, callout.Pending)
	b.must(b.Reaper.RunOnce(b.T.Context()))
	b.SetStatus(Count, callout.Done)
	b.must(b.Reaper.RunOnce(b.T.Context()))
	b.want("called by somebody else", b.clock(Bill), "closed")
}

func forgotten(b *Bench) {
	b.must(b.Sweeper.RunOnce(b.T.Context()))
	b.SetValue(Potassium, PotassiumIndex, "7.1")
	b.SetStatus(Potassium, callout.Normal) // the core writes the row with the values
	b.must(b.Sweeper.RunOnce(b.T.Context()))
	b.want("listed", b.listed(everything), "[7001 CALLOUT_PENDING 7.1]")
	left, err := b.Sweeps.Unjudged(
		b.T.Context(),
		time.Time{}.AddDate(2000, 0, 0),
		time.Date(2100, 1, 1, 0, 0, 0, 0, time.UTC),
		100,
	)
	b.must(err)
	b.want("unjudged afterwards", left, "[]")
}

func repeated(b *Bench) {
	b.Setting(12, 0, 48)
	b.pending()
	b.must(b.save(save.Callout{ReportIDs: []int64{Potassium}}))
	b.Clock.Move(47 * time.Hour)
	b.SetValue(Second, PotassiumIndex, "6.9")
	b.want("a similar value", b.evaluate(12, Second), "7003 ABNORMAL")
	b.want("suppressed", b.Count.Suppressed, 1)
	logs, err := b.History.Logs(b.T.Context(), Lab(b.T, 12), everything, []int64{Second})
	b.must(err)
	b.want("history", len(logs), 1)
	b.SetValue(Second, PotassiumIndex, "2.0")
	b.want("on the other side", b.evaluate(12, Second), "7003 CALLOUT_PENDING")
	b.SetValue(Second, PotassiumIndex, "4")
	b.evaluate(12, Second)
	b.Clock.Move(2 * time.Hour)
	b.SetValue(Second, PotassiumIndex, "6.9")
	b.want("after two days", b.evaluate(12, Second), "7003 CALLOUT_PENDING")
}

func visibility(b *Bench) {
	b.pending()
	b.SetValue(Count, CountIndex, "5")
	b.evaluate(12, Count)
	const potassium, count = "[7001 CALLOUT_PENDING 7.1]", "[7002 CALLOUT_PENDING 5]"
	const both = "[7001 CALLOUT_PENDING 7.1 7002 CALLOUT_PENDING 5]"
	for _, c := range []struct {
		v    callout.Visibility
		want string
	}{
		{callout.Visibility{Rule: callout.Everything}, both},
		{callout.Visibility{Rule: callout.SessionDepartments, Departments: []int64{4}}, count},
		{callout.Visibility{Rule: callout.SessionDepartments, Departments: []int64{4, 5}}, both},
		{callout.Visibility{Rule: callout.SessionDepartments}, "[]"},
		{callout.Visibility{Rule: callout.DoctorDepartments, PersonID: 302}, potassium},
		{callout.Visibility{Rule: callout.DoctorDepartments, PersonID: 301}, "[]"},
		{callout.Visibility{Rule: callout.UserDepartments, PersonID: 78}, count},
		{callout.Visibility{Rule: callout.DoctorBills, PersonID: 301}, both},
		{callout.Visibility{Rule: callout.DoctorBills, PersonID: 302}, "[]"},
		{callout.Visibility{}, "[]"},
	} {
		b.want(fmt.Sprint(c.v), b.listed(c.v), c.want)
		open, err := b.Worklist.Open(b.T.Context(), Lab(b.T, 12), c.v)
		b.must(err)
		b.want("worklist", len(open.Items), strings.Count(c.want, "CALLOUT"))
	}
	blind := Asha
	blind.Sees = callout.Visibility{Rule: callout.SessionDepartments, Departments: []int64{4}}
	_, err := b.Save.Save(b.T.Context(), Lab(b.T, 12), blind,
		save.Callout{BillID: Bill, ReportIDs: []int64{Potassium}, Recipients: []string{"a"}, Methods: []string{"b"}})
	b.want("a callout of what one does not see", apperr.KindOf(err), apperr.Invalid)
}

func figures(b *Bench) {
	b.pending()
	b.Clock.Move(12 * time.Minute)
	b.must(b.save(save.Callout{ReportIDs: []int64{Potassium}}))
	b.SetValue(Count, CountIndex, "5")
	b.evaluate(12, Count)
	b.Clock.Move(31 * time.Minute)
	sum, err := b.Worklist.Summary(b.T.Context(), Lab(b.T, 12), everything, "", "")
	b.must(err)
	b.want(
		"summary",
		fmt.Sprint(sum.Open, sum.Overdue, sum.Called, sum.InTime, *sum.Median, *sum.P90, sum.Limit),
		"1 1 1 1 12 12 30m0s",
	)
	open, err := b.Worklist.Open(b.T.Context(), Lab(b.T, 12), everything)
	b.must(err)
	b.want(
		"worklist",
		fmt.Sprintf("%d %d %s", len(open.Items), open.Items[0].Report.ID, open.Items[0].DetectedAt.Format(time.TimeOnly)),
		"1 7002 09:12:00",
	)
	other, err := b.Worklist.Open(b.T.Context(), Lab(b.T, 13), everything)
	b.must(err)
	b.want("another laboratory's worklist", len(other.Items), 0)
}

// race has everybody complete, draft, evaluate and escalate the same bill at once.
func race(b *Bench) {
	b.pending()
	b.Clock.Move(31 * time.Minute)
	var all sync.WaitGroup
	var mu sync.Mutex
	won := 0
	for i := range 24 {
		all.Go(func() {
			var err error
			switch i % 4 {
			case 0:
				if err = b.save(save.Callout{ReportIDs: []int64{Potassium}}); err == nil {
					mu.Lock()
					won++
					mu.Unlock()
				}
			case 1:
				err = b.save(save.Callout{Draft: true, ReportIDs: []int64{Potassium}})
			case 2:
				_, err = b.Evaluate.Reports(b.T.Context(), Lab(b.T, 12), []int64{Potassium, Count})
			default:
				_, err = b.Escalate.Bill(b.T.Context(), Lab(b.T, 12), Bill)
			}
			if err != nil && !apperr.Is(err, apperr.Conflict) {
				b.T.Errorf("writer %d: %v", i, err)
			}
		})
	}
	all.Wait()
	escalations := 0
	for _, key := range b.notices() {
		if key == "escalation" {
			escalations++
		}
	}
	view, err := b.View(b.T.Context(), Lab(b.T, 12), Bill, everything)
	b.must(err)
	if won != 1 || escalations > 1 || view.Draft != nil || b.clock(Bill) != "closed" {
		b.T.Fatalf("%d callouts, %d escalations, draft %v, clock %s", won, escalations, view.Draft, b.clock(Bill))
	}
}

func refused(b *Bench) {
	b.pending()
	before := len(b.Sent())
	err := b.save(save.Callout{ReportIDs: []int64{Potassium, Count}})
	b.want("one of two is not critical", apperr.KindOf(err), apperr.Conflict)
	b.want("listed", b.listed(everything), "[7001 CALLOUT_PENDING 7.1]")
	latest, err := b.History.Latest(b.T.Context(), Lab(b.T, 12), everything, []int64{Potassium})
	b.must(err)
	b.want("rows and messages", fmt.Sprint(len(latest), len(b.Sent())-before), "0 0")
	if !slices.Equal(b.notices(), []string{"pending"}) {
		b.T.Fatal(b.notices())
	}
}
