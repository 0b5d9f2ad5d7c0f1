package storetest

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/labplatform/labplatform/pkg/apperr"
	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/services/callout/internal/callout"
	"github.com/labplatform/labplatform/services/callout/internal/evaluate"
	"github.com/labplatform/labplatform/services/callout/internal/save"
	"github.com/labplatform/labplatform/services/callout/internal/settings"
	"github.com/labplatform/labplatform/services/callout/internal/sweep"
)

// Run tests the stores that open makes, a fresh one for each test.
func Run(t *testing.T, open func(*testing.T, *Clock) Backend) {
	t.Helper()
	for name, test := range map[string]func(*Fixture){
		"a critical value waits and is announced once":               announced,
		"other laboratories and unknown bills":                       scoped,
		"a callout ends the wait":                                    called,
		"a called value turned out wrong":                            turnedOutWrong,
		"a draft and a callout never exist together":                 drafts,
		"only another critical value opens a callout again":          reopened,
		"a corrected value ends the wait":                            corrected,
		"an unclear value changes nothing":                           unclear,
		"each deadline is raised once":                               raised,
		"every report has a deadline of its own":                     deadlines,
		"reports that others set to wait are adopted":                adopted,
		"dismissed and moved reports":                                moved,
		"forgotten reports are found":                                forgotten,
		"a repeated value needs no call when the laboratory says so": repeated,
		"settings are replaced by who may":                           decided,
		"who sees what":                                              visibility,
		"the worklist and the figures":                               figures,
		"writers at once":                                            race,
		"an error changes nothing":                                   refused,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := NewClock()
			test(NewFixture(t, open(t, c), c))
		})
	}
}

func announced(b *Fixture) {
	b.SetValue(Potassium, PotassiumIndex, "7.1")
	b.Want("before", b.Listed(Everything), "[]")
	for range 3 {
		b.Want("evaluated", b.Judged(12, Potassium, Count, 999), "7001 CALLOUT_PENDING, 7002 NORMAL")
	}
	b.Want("listed", b.Listed(Everything), "[7001 CALLOUT_PENDING 7.1]")
	b.Want("notices", b.Notices(), "[pending]")
	b.Want("deadline", b.Due(Potassium), "level 0, due 09:30:00")
	b.SetValue(Potassium, PotassiumIndex, "7.4")
	b.Want("another critical value while it waits", b.Judged(12, Potassium), "7001 CALLOUT_PENDING")
	b.Want("notices", b.Notices(), "[pending]")
}

func scoped(b *Fixture) {
	b.SetValue(Foreign, PotassiumIndex, "7.1")
	b.Want("another laboratory's report", b.Judged(12, Foreign), "")
	_, err := b.List.List(b.T.Context(), Lab(b.T, 12), ForeignBill, Everything)
	b.Want("another laboratory's bill", apperr.KindOf(err), apperr.NotFound)
	_, err = b.Evaluate.Bill(b.T.Context(), Lab(b.T, 12), ForeignBill, evaluate.Named)
	b.Want("evaluate it", apperr.KindOf(err), apperr.NotFound)
	b.Want(
		"save on it",
		apperr.KindOf(b.Record(save.Callout{BillID: ForeignBill, ReportIDs: []int64{Foreign}})),
		apperr.NotFound,
	)
	b.Want("save another bill's report", apperr.KindOf(b.Record(save.Callout{ReportIDs: []int64{Second}})), apperr.Invalid)
	b.Want("their own", b.Judged(13, Foreign), "7100 CALLOUT_PENDING")
}

// turnedOutWrong: the board shows what was called, when everybody was told that it was wrong, and whether someone
// called.
func turnedOutWrong(b *Fixture) {
	shown := func(v callout.Visibility) string {
		b.T.Helper()
		o, err := b.Worklist.Open(b.T.Context(), Lab(b.T, 12), v)
		b.Must(err)
		text := ""
		for _, c := range o.Corrected {
			called := "not called"
			if !c.CalledAt.IsZero() {
				called = fmt.Sprint("called after ", c.CalledAt.Sub(c.ToldAt))
			}
			text += fmt.Sprintf("%d %s, %v ago, %s", c.ReportID, c.Was[0].RawValue, b.Clock.Now().Sub(c.ToldAt), called)
		}
		return text
	}
	b.Pending()
	b.Must(b.Record(save.Callout{ReportIDs: []int64{Potassium}}))
	b.Clock.Move(10 * time.Minute)
	b.SetValue(Potassium, PotassiumIndex, "4.0")
	b.Want("no one judged it", shown(Everything), "")
	b.Want("corrected", b.Judged(12, Potassium), "7001 CALLOUT_DONE")
	b.Clock.Move(time.Minute)
	b.Want("on the board", shown(Everything), "7001 7.1, 1m0s ago, not called")
	b.Want("its doctor's board", shown(callout.Visibility{Rule: callout.DoctorBills, PersonID: 301}), shown(Everything))
	b.Want("another doctor's", shown(callout.Visibility{Rule: callout.DoctorBills, PersonID: 302}), "")
	b.Must(b.Record(save.Callout{ReportIDs: []int64{Potassium}, Force: true}))
	b.Want("called", shown(Everything), "7001 7.1, 1m0s ago, called after 1m0s")
	b.SetValue(Potassium, PotassiumIndex, "7.9")
	b.Want("critical again", b.Judged(12, Potassium), "7001 CALLOUT_PENDING")
	b.Want("who waits again is no correction", shown(Everything), "")
	b.Must(b.Record(save.Callout{ReportIDs: []int64{Potassium}}))
	b.SetValue(Potassium, PotassiumIndex, "4.1")
	b.Want("wrong again", b.Judged(12, Potassium), "7001 CALLOUT_DONE")
	b.Want("the later correction", shown(Everything)[:14], "7001 7.9, 0s ago, not called"[:14])
	b.Clock.Move(73 * time.Hour)
	b.Want("three days later", shown(Everything), "")
}

func called(b *Fixture) {
	b.Pending()
	b.Clock.Move(10 * time.Minute)
	b.Must(b.Record(save.Callout{ReportIDs: []int64{Potassium}}))
	b.Want("listed", b.Listed(Everything), "[7001 CALLOUT_DONE 7.1]")
	b.Want("deadline", b.Due(Potassium), "closed")
	b.Want("again", apperr.KindOf(b.Record(save.Callout{ReportIDs: []int64{Potassium}})), apperr.Conflict)
	b.Must(b.Record(save.Callout{ReportIDs: []int64{Potassium}, Force: true}))
	b.SetValue(Potassium, PotassiumIndex, "4.0")
	latest, err := b.History.Latest(b.T.Context(), Lab(b.T, 12), Everything, []int64{Count, Potassium, Potassium})
	b.Must(err)
	b.Want("callouts", len(latest), 1)
	told, ok := callout.ReadSnapshot(latest[0].ValuesMeta, Potassium)
	b.Want(
		"what was said stays",
		fmt.Sprintf("%v %s %s", ok, told.Parameters[0].RawValue, told.Parameters[0].CriticalRange),
		"true 7.1 < 2.5 or > 6.5",
	)
	logs, err := b.History.Logs(b.T.Context(), Lab(b.T, 12), Everything, []int64{Potassium})
	b.Must(err)
	b.Want("history", len(logs), 3)
	for doctor, want := range map[int64]string{301: "1 3 1", 302: "0 0 0"} { // the bill is doctor 301's
		own := callout.Visibility{Rule: callout.DoctorBills, PersonID: doctor}
		latest, err := b.History.Latest(b.T.Context(), Lab(b.T, 12), own, []int64{Count, Potassium})
		b.Must(err)
		logs, err := b.History.Logs(b.T.Context(), Lab(b.T, 12), own, []int64{Potassium})
		b.Must(err)
		sum, err := b.Worklist.Summary(b.T.Context(), Lab(b.T, 12), own, "", "")
		b.Must(err)
		b.Want(fmt.Sprint("told to doctor ", doctor), fmt.Sprint(len(latest), len(logs), sum.Called), want)
	}
	b.Want("not critical", apperr.KindOf(b.Record(save.Callout{ReportIDs: []int64{Count}})), apperr.Conflict)
}

func drafts(b *Fixture) {
	b.Pending()
	for _, comment := range []string{"first", "second"} {
		b.Must(b.Record(save.Callout{Draft: true, ReportIDs: []int64{Potassium}, Comment: comment}))
	}
	view, err := b.View(b.T.Context(), Lab(b.T, 12), Bill, Everything)
	b.Must(err)
	b.Want("the draft", view.Draft.Comment, "second")
	b.Want("listed", b.Listed(Everything), "[7001 CALLOUT_ATTEMPTED 7.1]")
	b.Want("deadline", b.Due(Potassium), "level 0, due 09:30:00")
	b.Must(b.Record(save.Callout{ReportIDs: []int64{Potassium}}))
	view, err = b.View(b.T.Context(), Lab(b.T, 12), Bill, Everything)
	b.Must(err)
	b.Want("no draft", view.Draft == nil, true)
	b.Want(
		"draft of what is done",
		apperr.KindOf(b.Record(save.Callout{Draft: true, ReportIDs: []int64{Potassium}, Force: true})),
		apperr.Conflict,
	)
}

func reopened(b *Fixture) {
	b.Pending()
	b.Must(b.Record(save.Callout{ReportIDs: []int64{Potassium}}))
	b.Want("as it was called", b.Enter(Potassium, PotassiumIndex, "7.1"), "CALLOUT_DONE")
	b.Want("another critical value", b.Enter(Potassium, PotassiumIndex, "1.9"), "CALLOUT_PENDING")
	b.Want("notices", b.Notices(), "[pending pending]")
	b.SetStatus(Count, callout.Done)
	b.SetValue(Count, CountIndex, "5")
	b.Must(b.Sweeper.RunOnce(b.T.Context()))
	b.Want("done without a record of ours, seen in passing", b.Notices(), "[pending pending]")
	b.Want("and named", b.Judged(12, Count), "7002 CALLOUT_PENDING")
}

func corrected(b *Fixture) {
	b.Pending()
	b.Must(b.Record(save.Callout{Draft: true, ReportIDs: []int64{Potassium}}))
	b.SetValue(Potassium, PotassiumIndex, "5.5")
	b.Want("evaluated", b.Judged(12, Potassium), "7001 ABNORMAL")
	b.Want("deadline", b.Due(Potassium), "closed")
	b.SetValue(Potassium, PotassiumIndex, "4.5")
	b.Want("evaluated", b.Judged(12, Potassium), "7001 NORMAL")
	b.SetValue(Potassium, PotassiumIndex, "7")
	b.Want("evaluated", b.Judged(12, Potassium), "7001 CALLOUT_PENDING")
	b.Want("notices", b.Notices(), "[pending pending]")
	no := false
	b.Must(b.Record(save.Callout{ReportIDs: []int64{Potassium}, ReadBack: &no}))
	b.Want("told and not read back", b.Enter(Potassium, PotassiumIndex, "4.5"), "NORMAL")
	b.Want("notices", b.Notices(), "[pending pending corrected]")
}

func unclear(b *Fixture) {
	b.Want("no values", b.Judged(12, Potassium), "7001 NORMAL")
	b.Pending()
	for _, value := range []string{"****", "<7", "", "TNP"} {
		b.SetValue(Potassium, PotassiumIndex, value)
		b.Want(value, b.Judged(12, Potassium), "7001 CALLOUT_PENDING")
	}
	b.SetValue(Count, UnlimitedIndex, "odd")
	b.SetValue(Count, CountIndex, "14")
	b.Want("a parameter without critical limits does not matter", b.Judged(12, Count), "7002 NORMAL")
}

func raised(b *Fixture) {
	b.Pending()
	raise := func() int {
		level, err := b.Escalate.Bill(b.T.Context(), Lab(b.T, 12), Bill)
		b.Must(err)
		return level
	}
	b.Clock.Move(30*time.Minute - time.Millisecond)
	b.Want("before the deadline", raise(), 0)
	b.Clock.Move(time.Millisecond)
	b.Want("at the deadline", raise(), 1)
	b.Want("again", raise(), 0)
	b.Must(b.Reaper.RunOnce(b.T.Context()))
	b.Want("deadline", b.Due(Potassium), "level 1, due 10:00:00")
	b.Clock.Move(time.Hour)
	b.Must(b.Reaper.RunOnce(b.T.Context()))
	b.Want("the reaper raises what no job did", b.Due(Potassium), "level 2, last")
	b.Clock.Move(time.Hour)
	b.Must(b.Reaper.RunOnce(b.T.Context()))
	b.Want("notices", b.Notices(), "[pending escalation escalation]")
	logs, err := b.History.Logs(b.T.Context(), Lab(b.T, 12), Everything, []int64{Potassium})
	b.Must(err)
	b.Want("history", len(logs), 3)
	b.Must(b.Record(save.Callout{ReportIDs: []int64{Potassium}}))
	b.Want("deadline", b.Due(Potassium), "closed")
}

func deadlines(b *Fixture) {
	b.Setting(12, callout.Settings{Pace: callout.Pace{After: 5 * time.Minute, Most: 2}, ReadBackNeeded: true})
	b.Pending()
	b.Want("the laboratory's own pace", b.Due(Potassium), "level 0, due 09:05:00")
	b.Clock.Move(time.Minute)
	b.Want("evaluated", b.Enter(Count, CountIndex, "5"), "CALLOUT_PENDING")
	b.Want("the deadlines", b.Due(Potassium)+"; "+b.Due(Count), "level 0, due 09:05:00; level 0, due 09:06:00")
	d, err := b.Deadline(b.T.Context(), Lab(b.T, 12), Bill)
	b.Must(err)
	b.Want("the job's", d.DueAt.Format(time.TimeOnly), "09:05:00")
	b.Must(b.Record(save.Callout{ReportIDs: []int64{Potassium}}))
	b.Want("one still waits", b.Due(Potassium)+"; "+b.Due(Count), "closed; level 0, due 09:06:00")
	d, err = b.Deadline(b.T.Context(), Lab(b.T, 12), Bill)
	b.Must(err)
	b.Want("the job's", d.DueAt.Format(time.TimeOnly), "09:06:00")
	b.Must(b.Record(save.Callout{ReportIDs: []int64{Count}}))
	d, err = b.Deadline(b.T.Context(), Lab(b.T, 12), Bill)
	b.Must(err)
	b.Want("none waits", d.DueAt.IsZero(), true)
}

func adopted(b *Fixture) {
	b.SetValue(Potassium, PotassiumIndex, "7.1")
	b.SetStatus(Potassium, callout.Pending)
	b.SetStatus(Count, callout.Attempted) // without any value: undecided
	b.Must(b.Reaper.RunOnce(b.T.Context()))
	b.Want("deadline", b.Due(Potassium), "level 0, due 09:30:00")
	b.Want("who set the state has announced it", b.Notices(), "[]")
	b.Want("job", b.Jobs.Bills, "map[400:true]")
	b.Must(b.Reaper.RunOnce(b.T.Context()))
	open, err := b.Worklist.Open(b.T.Context(), Lab(b.T, 12), Everything)
	b.Must(err)
	b.Want("worklist", len(open.Items), 2)
	b.Want("figures", *b.Count.Figures, "{2 0 0 0s}")
	b.Must(b.Record(save.Callout{ReportIDs: []int64{Count}})) // what waits may be called, whatever its values are
}

func moved(b *Fixture) {
	b.Pending()
	b.Clock.Move(29 * time.Minute)
	b.MoveToBill(Potassium, SecondBill)
	b.Must(b.Reaper.RunOnce(b.T.Context()))
	b.Want("a split moves no deadline", b.Due(Potassium), "level 0, due 09:30:00")
	b.Want("the job", b.Jobs.Bills, "map[401:true]")
	b.Dismiss(Potassium)
	b.Must(b.Reaper.RunOnce(b.T.Context()))
	b.Want("dismissed", b.Count.Figures.Open, 0)
	b.SetStatus(Count, callout.Pending)
	b.Must(b.Reaper.RunOnce(b.T.Context()))
	b.SetStatus(Count, callout.Done)
	b.Must(b.Reaper.RunOnce(b.T.Context()))
	b.Want("called by someone else", b.Due(Count), "closed")
	b.Want("nothing is open", b.Count.Figures.Open, 0)
}

func forgotten(b *Fixture) {
	b.Must(b.Sweeper.RunOnce(b.T.Context()))
	b.SetValue(Potassium, PotassiumIndex, "7.1")
	b.SetStatus(Potassium, callout.Normal) // the core writes the row with the values
	b.Must(b.Sweeper.RunOnce(b.T.Context()))
	b.Want("listed", b.Listed(Everything), "[7001 CALLOUT_PENDING 7.1]")
	left, err := b.Sweeps.Unjudged(b.T.Context(), sweep.Report{}, b.Clock.Now().Add(time.Hour), 100)
	b.Must(err)
	b.Want("unjudged afterwards", left, "[]")
}

func repeated(b *Fixture) {
	b.Setting(12, callout.Settings{Pace: Pace, ReadBackNeeded: true, RepeatWithin: 48 * time.Hour})
	b.Pending()
	b.Must(b.Record(save.Callout{ReportIDs: []int64{Potassium}}))
	b.Clock.Move(47 * time.Hour)
	b.Want("a value that is not worse", b.Enter(Second, PotassiumIndex, "6.9"), "ABNORMAL")
	for range 2 {
		b.Want("decided once", b.Enter(Second, PotassiumIndex, "6.9"), "ABNORMAL")
	}
	b.Want("suppressed", b.Count.Suppressed, 1)
	b.Want("history", len(b.Lines(Second)), 1)
	b.Clock.Move(2 * time.Hour)
	b.Want("the same value after the time", b.Enter(Second, PotassiumIndex, "6.9"), "ABNORMAL")
	b.Want("another after the time", b.Enter(Second, PotassiumIndex, "6.8"), "CALLOUT_PENDING")
}

// decided: administrators and users with the permission change the settings of their laboratory, within bounds.
func decided(b *Fixture) {
	u := settings.New(b, b.Clock, "callout_configure")
	ctx, lab := b.T.Context(), Lab(b.T, 12)
	n := func(i int) *int { return &i }
	no := false
	user := authn.Principal{Kind: authn.Session, SessionType: authn.LabUser, LabID: 12, LabUserID: 77}
	permitted, admin, support := user, user, user
	permitted.Permissions, admin.LabUserID, support.SessionType = []string{"callout_configure"}, 79, authn.Support
	for name, p := range map[string]authn.Principal{"a user": user, "support": support} {
		_, err := u.Put(ctx, p, lab, settings.Own{})
		b.Want(name, apperr.KindOf(err), apperr.Forbidden)
	}
	for _, wrong := range []settings.Own{
		{EscalateMinutes: n(0)}, {EscalateMinutes: n(1441)}, {EscalateMost: n(0)}, {EscalateMost: n(21)},
		{RepeatWithinHours: n(-1)}, {RepeatWithinHours: n(169)},
	} {
		_, err := u.Put(ctx, admin, lab, wrong)
		b.Want("out of bounds", apperr.KindOf(err), apperr.Invalid)
	}
	held, err := u.Put(ctx, permitted, lab, settings.Own{
		EscalateMinutes: n(5), EscalateMost: n(7), ReadBackNeeded: &no, RepeatWithinHours: n(48),
	})
	b.Must(err)
	b.Want("what holds", held, "{{5m0s 7} false 48h0m0s}")
	b.Pending()
	b.Want("the deadline", b.Due(Potassium), "level 0, due 09:05:00")
	held, err = u.Put(ctx, admin, lab, settings.Own{})
	b.Must(err)
	b.Want("the defaults again", held, "{{30m0s 2} true 0s}")
	other, err := u.Get(ctx, Lab(b.T, 13))
	b.Must(err)
	b.Want("another laboratory", other, held)
}

func visibility(b *Fixture) {
	b.Pending()
	b.SetValue(Count, CountIndex, "5")
	b.Judged(12, Count)
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
		b.Want(fmt.Sprint(c.v), b.Listed(c.v), c.want)
		open, err := b.Worklist.Open(b.T.Context(), Lab(b.T, 12), c.v)
		b.Must(err)
		b.Want("worklist", len(open.Items), strings.Count(c.want, "CALLOUT"))
	}
	blind := Asha
	blind.Sees = callout.Visibility{Rule: callout.SessionDepartments, Departments: []int64{4}}
	_, err := b.Save.Save(b.T.Context(), Lab(b.T, 12), blind,
		save.Callout{BillID: Bill, ReportIDs: []int64{Potassium}, Recipients: []string{"a"}, Methods: []string{"b"}})
	b.Want("a callout of what one does not see", apperr.KindOf(err), apperr.Invalid)
}

func figures(b *Fixture) {
	b.Pending()
	b.Clock.Move(12 * time.Minute)
	b.Must(b.Record(save.Callout{ReportIDs: []int64{Potassium}}))
	b.SetValue(Count, CountIndex, "5")
	b.Judged(12, Count)
	b.Clock.Move(31 * time.Minute)
	sum, err := b.Worklist.Summary(b.T.Context(), Lab(b.T, 12), Everything, "", "")
	b.Must(err)
	b.Want(
		"summary",
		fmt.Sprint(sum.Open, sum.Overdue, sum.Called, sum.InTime, *sum.Median, *sum.P90, sum.Limit),
		"1 1 1 1 12 12 30m0s",
	)
	open, err := b.Worklist.Open(b.T.Context(), Lab(b.T, 12), Everything)
	b.Must(err)
	b.Want(
		"worklist",
		fmt.Sprintf("%d %d %s", len(open.Items), open.Items[0].Report.ID, open.Items[0].DetectedAt.Format(time.TimeOnly)),
		"1 7002 09:12:00",
	)
	b.Want("not quiet", open.QuietSince.IsZero(), true)
	other, err := b.Worklist.Open(b.T.Context(), Lab(b.T, 13), Everything)
	b.Must(err)
	b.Want("another laboratory's worklist", len(other.Items), 0)
	b.Want("where nothing ever waited", other.QuietSince.IsZero(), true)
	for doctor, want := range map[int64]string{301: "09:43:00", 302: "00:00:00"} { // the bill is doctor 301's
		b.SetValue(Count, CountIndex, "14")
		b.Judged(12, Count)
		own := callout.Visibility{Rule: callout.DoctorBills, PersonID: doctor}
		quiet, err := b.Worklist.Open(b.T.Context(), Lab(b.T, 12), own)
		b.Must(err)
		b.Want("quiet since", quiet.QuietSince.Format(time.TimeOnly), want)
	}
}

// race has everybody complete, draft, evaluate and escalate the same bill at once.
func race(b *Fixture) {
	b.Pending()
	b.Clock.Move(31 * time.Minute)
	var all sync.WaitGroup
	var mu sync.Mutex
	won := 0
	for i := range 24 {
		all.Go(func() {
			var err error
			switch i % 4 {
			case 0:
				if err = b.Record(save.Callout{ReportIDs: []int64{Potassium}}); err == nil {
					mu.Lock()
					won++
					mu.Unlock()
				}
			case 1:
				err = b.Record(save.Callout{Draft: true, ReportIDs: []int64{Potassium}})
			case 2:
				_, err = b.Evaluate.Reports(b.T.Context(), Lab(b.T, 12), []int64{Potassium, Count}, evaluate.Named)
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
	for _, key := range b.Notices() {
		if key == "escalation" {
			escalations++
		}
	}
	view, err := b.View(b.T.Context(), Lab(b.T, 12), Bill, Everything)
	b.Must(err)
	if won != 1 || escalations > 1 || view.Draft != nil || b.Due(Potassium) != "closed" {
		b.T.Fatalf("%d callouts, %d escalations, draft %v, deadline %s", won, escalations, view.Draft, b.Due(Potassium))
	}
}

func refused(b *Fixture) {
	b.Pending()
	before := len(b.Sent())
	err := b.Record(save.Callout{ReportIDs: []int64{Potassium, Count}})
	b.Want("one of two is not critical", apperr.KindOf(err), apperr.Conflict)
	b.Want("listed", b.Listed(Everything), "[7001 CALLOUT_PENDING 7.1]")
	latest, err := b.History.Latest(b.T.Context(), Lab(b.T, 12), Everything, []int64{Potassium})
	b.Must(err)
	b.Want("rows and messages", fmt.Sprint(len(latest), len(b.Sent())-before), "0 0")
	if !slices.Equal(b.Notices(), []string{"pending"}) {
		b.T.Fatal(b.Notices())
	}
}
