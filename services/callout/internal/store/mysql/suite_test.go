package mysql_test

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
	"github.com/labplatform/labplatform/services/callout/internal/save"
	"github.com/labplatform/labplatform/services/callout/internal/settings"
	"github.com/labplatform/labplatform/services/callout/internal/store/mysql"
	"github.com/labplatform/labplatform/services/callout/internal/store/storetest"
	"github.com/labplatform/labplatform/services/callout/internal/sweep"
)

func TestUseCases(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]func(*storetest.Fixture){
		"a critical value waits and is announced once":        announced,
		"other laboratories and unknown bills":                scoped,
		"a callout ends the wait":                             called,
		"a called value turned out wrong":                     turnedOutWrong,
		"a draft and a callout never exist together":          drafts,
		"only another critical value opens a callout again":   reopened,
		"a corrected value ends the wait":                     corrected,
		"an unclear value changes nothing":                    unclear,
		"each deadline is raised once":                        raised,
		"every report has a deadline of its own":              deadlines,
		"reports that other programs set to wait are adopted": adopted,
		"dismissed and moved reports":                         moved,
		"reports without an evaluation are found":             forgotten,
		"a repeated value needs no call by the repeat policy": repeated,
		"settings are changed by authorized users":            decided,
		"visibility by department":                            visibility,
		"the worklist and the figures":                        figures,
		"writers at once":                                     race,
		"an error changes nothing":                            refused,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(storetest.New(t))
		})
	}
}

func announced(b *storetest.Fixture) {
	b.SetValue(storetest.Potassium, storetest.PotassiumIndex, "7.1")
	b.Want("before", b.Listed(storetest.Everything), "[]")
	for range 3 {
		b.Want("evaluated", b.Judged(12, storetest.Potassium, storetest.Count, 999), "7001 CALLOUT_PENDING, 7002 NORMAL")
	}
	b.Want("listed", b.Listed(storetest.Everything), "[7001 CALLOUT_PENDING 7.1]")
	b.Want("notices", b.Notices(), "[pending]")
	b.Want("deadline", b.Due(storetest.Potassium), "level 0, due 09:30:00")
	b.SetValue(storetest.Potassium, storetest.PotassiumIndex, "7.4")
	b.Want("another critical value while it waits", b.Judged(12, storetest.Potassium), "7001 CALLOUT_PENDING")
	b.Want("notices", b.Notices(), "[pending]")
}

func scoped(b *storetest.Fixture) {
	b.SetValue(storetest.Foreign, storetest.PotassiumIndex, "7.1")
	b.Want("another laboratory's report", b.Judged(12, storetest.Foreign), "")
	_, err := b.List.List(b.T.Context(), storetest.Lab(b.T, 12), storetest.ForeignBill, storetest.Everything)
	b.Want("another laboratory's bill", apperr.KindOf(err), apperr.NotFound)
	_, err = b.Evaluate.Bill(b.T.Context(), storetest.Lab(b.T, 12), storetest.ForeignBill, callout.Event{Named: true})
	b.Want("evaluate it", apperr.KindOf(err), apperr.NotFound)
	b.Want(
		"save on it",
		apperr.KindOf(b.Record(save.Callout{BillID: storetest.ForeignBill, ReportIDs: []int64{storetest.Foreign}})),
		apperr.NotFound,
	)
	b.Want("save another bill's report", apperr.KindOf(b.Record(save.Callout{ReportIDs: []int64{storetest.Second}})), apperr.Invalid)
	b.Want("their own", b.Judged(13, storetest.Foreign), "7100 CALLOUT_PENDING")
}

// turnedOutWrong checks the board's list of corrections: the communicated values, when their audience was informed, and
// the call about it.
func turnedOutWrong(b *storetest.Fixture) {
	shown := func(v callout.Visibility) string {
		b.T.Helper()
		o, err := b.Worklist.Open(b.T.Context(), storetest.Lab(b.T, 12), v)
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
	b.Must(b.Record(save.Callout{ReportIDs: []int64{storetest.Potassium}}))
	b.Clock.Advance(10 * time.Minute)
	b.SetValue(storetest.Potassium, storetest.PotassiumIndex, "4.0")
	b.Want("no one judged it", shown(storetest.Everything), "")
	b.Want("corrected", b.Judged(12, storetest.Potassium), "7001 CALLOUT_DONE")
	b.Clock.Advance(time.Minute)
	b.Want("on the board", shown(storetest.Everything), "7001 7.1, 1m0s ago, not called")
	b.Want("its doctor's board", shown(callout.Visibility{Rule: callout.DoctorBills, PersonID: 301}), shown(storetest.Everything))
	b.Want("another doctor's", shown(callout.Visibility{Rule: callout.DoctorBills, PersonID: 302}), "")
	b.Must(b.Record(save.Callout{ReportIDs: []int64{storetest.Potassium}, Force: true}))
	b.Want("called", shown(storetest.Everything), "7001 7.1, 1m0s ago, called after 1m0s")
	b.SetValue(storetest.Potassium, storetest.PotassiumIndex, "7.9")
	b.Want("critical again", b.Judged(12, storetest.Potassium), "7001 CALLOUT_PENDING")
	b.Want("who waits again is no correction", shown(storetest.Everything), "")
	b.Must(b.Record(save.Callout{ReportIDs: []int64{storetest.Potassium}}))
	b.SetValue(storetest.Potassium, storetest.PotassiumIndex, "4.1")
	b.Want("wrong again", b.Judged(12, storetest.Potassium), "7001 CALLOUT_DONE")
	b.Want("the later correction", shown(storetest.Everything)[:14], "7001 7.9, 0s ago, not called"[:14])
	b.Clock.Advance(73 * time.Hour)
	b.Want("three days later", shown(storetest.Everything), "")
}

func called(b *storetest.Fixture) {
	b.Pending()
	b.Clock.Advance(10 * time.Minute)
	b.Must(b.Record(save.Callout{ReportIDs: []int64{storetest.Potassium}}))
	b.Want("listed", b.Listed(storetest.Everything), "[7001 CALLOUT_DONE 7.1]")
	b.Want("deadline", b.Due(storetest.Potassium), "closed")
	b.Want("again", apperr.KindOf(b.Record(save.Callout{ReportIDs: []int64{storetest.Potassium}})), apperr.Conflict)
	b.Must(b.Record(save.Callout{ReportIDs: []int64{storetest.Potassium}, Force: true}))
	b.SetValue(storetest.Potassium, storetest.PotassiumIndex, "4.0")
	latest, err := b.History.Latest(b.T.Context(), storetest.Lab(b.T, 12), storetest.Everything, []int64{storetest.Count, storetest.Potassium, storetest.Potassium})
	b.Must(err)
	b.Want("callouts", len(latest), 1)
	told, ok := callout.ReadSnapshot(latest[0].ValuesMeta, storetest.Potassium)
	b.Want(
		"what was said stays",
		fmt.Sprintf("%v %s %s", ok, told.Parameters[0].RawValue, told.Parameters[0].CriticalRange),
		"true 7.1 < 2.5 or > 6.5",
	)
	logs, err := b.History.Logs(b.T.Context(), storetest.Lab(b.T, 12), storetest.Everything, []int64{storetest.Potassium})
	b.Must(err)
	b.Want("history", len(logs), 3)
	for doctor, want := range map[int64]string{301: "1 3 1", 302: "0 0 0"} { // the bill belongs to doctor 301
		own := callout.Visibility{Rule: callout.DoctorBills, PersonID: doctor}
		latest, err := b.History.Latest(b.T.Context(), storetest.Lab(b.T, 12), own, []int64{storetest.Count, storetest.Potassium})
		b.Must(err)
		logs, err := b.History.Logs(b.T.Context(), storetest.Lab(b.T, 12), own, []int64{storetest.Potassium})
		b.Must(err)
		sum, err := b.Worklist.Summary(b.T.Context(), storetest.Lab(b.T, 12), own, "", "")
		b.Must(err)
		b.Want(fmt.Sprint("told to doctor ", doctor), fmt.Sprint(len(latest), len(logs), sum.Called), want)
	}
	b.Want("not critical", apperr.KindOf(b.Record(save.Callout{ReportIDs: []int64{storetest.Count}})), apperr.Conflict)
}

func drafts(b *storetest.Fixture) {
	b.Pending()
	for _, comment := range []string{"first", "second"} {
		b.Must(b.Record(save.Callout{Draft: true, ReportIDs: []int64{storetest.Potassium}, Comment: comment}))
	}
	view, err := b.View(b.T.Context(), storetest.Lab(b.T, 12), storetest.Bill, storetest.Everything)
	b.Must(err)
	b.Want("the draft", view.Draft.Comment, "second")
	b.Want("listed", b.Listed(storetest.Everything), "[7001 CALLOUT_ATTEMPTED 7.1]")
	b.Want("deadline", b.Due(storetest.Potassium), "level 0, due 09:30:00")
	b.Must(b.Record(save.Callout{ReportIDs: []int64{storetest.Potassium}}))
	view, err = b.View(b.T.Context(), storetest.Lab(b.T, 12), storetest.Bill, storetest.Everything)
	b.Must(err)
	b.Want("no draft", view.Draft == nil, true)
	b.Want(
		"draft of what is done",
		apperr.KindOf(b.Record(save.Callout{Draft: true, ReportIDs: []int64{storetest.Potassium}, Force: true})),
		apperr.Conflict,
	)
}

func reopened(b *storetest.Fixture) {
	b.Pending()
	b.Must(b.Record(save.Callout{ReportIDs: []int64{storetest.Potassium}}))
	b.Want("as it was called", b.Enter(storetest.Potassium, storetest.PotassiumIndex, "7.1"), "CALLOUT_DONE")
	b.Want("another critical value", b.Enter(storetest.Potassium, storetest.PotassiumIndex, "1.9"), "CALLOUT_PENDING")
	b.Want("notices", b.Notices(), "[pending pending]")
	b.SetStatus(storetest.Count, callout.Done)
	b.SetValue(storetest.Count, storetest.CountIndex, "5")
	b.Must(b.Sweeper.RunOnce(b.T.Context()))
	b.Want("done without a record of ours, seen in passing", b.Notices(), "[pending pending]")
	b.Want("and named", b.Judged(12, storetest.Count), "7002 CALLOUT_PENDING")
}

func corrected(b *storetest.Fixture) {
	b.Pending()
	b.Must(b.Record(save.Callout{Draft: true, ReportIDs: []int64{storetest.Potassium}}))
	b.SetValue(storetest.Potassium, storetest.PotassiumIndex, "5.5")
	b.Want("evaluated", b.Judged(12, storetest.Potassium), "7001 ABNORMAL")
	b.Want("deadline", b.Due(storetest.Potassium), "closed")
	b.SetValue(storetest.Potassium, storetest.PotassiumIndex, "4.5")
	b.Want("evaluated", b.Judged(12, storetest.Potassium), "7001 NORMAL")
	b.SetValue(storetest.Potassium, storetest.PotassiumIndex, "7")
	b.Want("evaluated", b.Judged(12, storetest.Potassium), "7001 CALLOUT_PENDING")
	b.Want("notices", b.Notices(), "[pending pending]")
	no := false
	b.Must(b.Record(save.Callout{ReportIDs: []int64{storetest.Potassium}, ReadBack: &no}))
	b.Want("told and not read back", b.Enter(storetest.Potassium, storetest.PotassiumIndex, "4.5"), "NORMAL")
	b.Want("notices", b.Notices(), "[pending pending corrected]")
}

func unclear(b *storetest.Fixture) {
	b.Want("no values", b.Judged(12, storetest.Potassium), "7001 NORMAL")
	b.Pending()
	for _, value := range []string{"****", "<7", "", "TNP"} {
		b.SetValue(storetest.Potassium, storetest.PotassiumIndex, value)
		b.Want(value, b.Judged(12, storetest.Potassium), "7001 CALLOUT_PENDING")
	}
	b.SetValue(storetest.Count, storetest.UnlimitedIndex, "odd")
	b.SetValue(storetest.Count, storetest.CountIndex, "14")
	b.Want("a parameter without critical limits does not matter", b.Judged(12, storetest.Count), "7002 NORMAL")
}

func raised(b *storetest.Fixture) {
	b.Pending()
	raise := func() int {
		level, err := b.Evaluate.Due(b.T.Context(), storetest.Lab(b.T, 12), storetest.Bill)
		b.Must(err)
		return level
	}
	b.Clock.Advance(30*time.Minute - time.Millisecond)
	b.Want("before the deadline", raise(), 0)
	b.Clock.Advance(time.Millisecond)
	b.Want("at the deadline", raise(), 1)
	b.Want("again", raise(), 0)
	b.Must(b.Reaper.RunOnce(b.T.Context()))
	b.Want("deadline", b.Due(storetest.Potassium), "level 1, due 10:00:00")
	b.Clock.Advance(time.Hour)
	b.Must(b.Reaper.RunOnce(b.T.Context()))
	b.Want("the reaper raises what no job did", b.Due(storetest.Potassium), "level 2, last")
	b.Clock.Advance(time.Hour)
	b.Must(b.Reaper.RunOnce(b.T.Context()))
	b.Want("notices", b.Notices(), "[pending escalation escalation]")
	logs, err := b.History.Logs(b.T.Context(), storetest.Lab(b.T, 12), storetest.Everything, []int64{storetest.Potassium})
	b.Must(err)
	b.Want("history", len(logs), 3)
	b.Must(b.Record(save.Callout{ReportIDs: []int64{storetest.Potassium}}))
	b.Want("deadline", b.Due(storetest.Potassium), "closed")
}

func deadlines(b *storetest.Fixture) {
	b.Setting(12, callout.Settings{Pace: callout.Pace{After: 5 * time.Minute, Most: 2}, ReadBackNeeded: true})
	b.Pending()
	b.Want("the laboratory's own pace", b.Due(storetest.Potassium), "level 0, due 09:05:00")
	b.Clock.Advance(time.Minute)
	b.Want("evaluated", b.Enter(storetest.Count, storetest.CountIndex, "5"), "CALLOUT_PENDING")
	b.Want("the deadlines", b.Due(storetest.Potassium)+"; "+b.Due(storetest.Count), "level 0, due 09:05:00; level 0, due 09:06:00")
	d, err := b.Deadline(b.T.Context(), storetest.Lab(b.T, 12), storetest.Bill)
	b.Must(err)
	b.Want("the job's", d.DueAt.Format(time.TimeOnly), "09:05:00")
	b.Must(b.Record(save.Callout{ReportIDs: []int64{storetest.Potassium}}))
	b.Want("one still waits", b.Due(storetest.Potassium)+"; "+b.Due(storetest.Count), "closed; level 0, due 09:06:00")
	d, err = b.Deadline(b.T.Context(), storetest.Lab(b.T, 12), storetest.Bill)
	b.Must(err)
	b.Want("the job's", d.DueAt.Format(time.TimeOnly), "09:06:00")
	b.Must(b.Record(save.Callout{ReportIDs: []int64{storetest.Count}}))
	d, err = b.Deadline(b.T.Context(), storetest.Lab(b.T, 12), storetest.Bill)
	b.Must(err)
	b.Want("none waits", d.DueAt.IsZero(), true)
}

func adopted(b *storetest.Fixture) {
	b.SetValue(storetest.Potassium, storetest.PotassiumIndex, "7.1")
	b.SetStatus(storetest.Potassium, callout.Pending)
	b.SetStatus(storetest.Count, callout.Attempted) // a report without values cannot be judged
	b.Must(b.Reaper.RunOnce(b.T.Context()))
	b.Want("deadline", b.Due(storetest.Potassium), "level 0, due 09:30:00")
	b.Want("who set the state has announced it", b.Notices(), "[]")
	b.Want("job", b.Jobs.Bills, "map[400:true]")
	b.Must(b.Reaper.RunOnce(b.T.Context()))
	open, err := b.Worklist.Open(b.T.Context(), storetest.Lab(b.T, 12), storetest.Everything)
	b.Must(err)
	b.Want("worklist", len(open.Items), 2)
	b.Want("figures", *b.Count.Figures, "{2 0 0 0s}")
	b.Must(b.Record(save.Callout{ReportIDs: []int64{storetest.Count}})) // a waiting report may be called again
}

func moved(b *storetest.Fixture) {
	b.Pending()
	b.Clock.Advance(29 * time.Minute)
	b.MoveToBill(storetest.Potassium, storetest.SecondBill)
	b.Must(b.Reaper.RunOnce(b.T.Context()))
	b.Want("a split moves no deadline", b.Due(storetest.Potassium), "level 0, due 09:30:00")
	b.Want("the job", b.Jobs.Bills, "map[401:true]")
	b.Dismiss(storetest.Potassium)
	b.Must(b.Reaper.RunOnce(b.T.Context()))
	b.Want("dismissed", b.Count.Figures.Open, 0)
	b.SetStatus(storetest.Count, callout.Pending)
	b.Must(b.Reaper.RunOnce(b.T.Context()))
	b.SetStatus(storetest.Count, callout.Done)
	b.Must(b.Reaper.RunOnce(b.T.Context()))
	b.Want("called by someone else", b.Due(storetest.Count), "closed")
	b.Want("nothing is open", b.Count.Figures.Open, 0)
}

func forgotten(b *storetest.Fixture) {
	b.Must(b.Sweeper.RunOnce(b.T.Context()))
	b.SetValue(storetest.Potassium, storetest.PotassiumIndex, "7.1")
	b.SetStatus(storetest.Potassium, callout.Normal) // the core writes the whole row when it saves values
	b.Must(b.Sweeper.RunOnce(b.T.Context()))
	b.Want("listed", b.Listed(storetest.Everything), "[7001 CALLOUT_PENDING 7.1]")
	left, err := mysql.Sweeps{Store: b.Store}.Unjudged(b.T.Context(), sweep.Report{}, b.Clock.Now().Add(time.Hour), 100)
	b.Must(err)
	b.Want("unjudged afterwards", left, "[]")
}

func repeated(b *storetest.Fixture) {
	b.Setting(12, callout.Settings{Pace: storetest.Defaults.Pace, ReadBackNeeded: true, RepeatWithin: 48 * time.Hour})
	b.Pending()
	b.Must(b.Record(save.Callout{ReportIDs: []int64{storetest.Potassium}}))
	b.Clock.Advance(47 * time.Hour)
	b.Exec("UPDATE billing SET orgId_id = 45, docId_id = 301 WHERE id = ?", storetest.SecondBill)
	b.Want("a value that is not worse", b.Enter(storetest.Second, storetest.PotassiumIndex, "6.9"), "ABNORMAL")
	for range 2 {
		b.Want("decided once", b.Enter(storetest.Second, storetest.PotassiumIndex, "6.9"), "ABNORMAL")
	}
	b.Want("suppressed", b.Count.Suppressed, 1)
	b.Want("history", len(b.Lines(storetest.Second)), 1)
	b.Clock.Advance(2 * time.Hour)
	b.Want("the same value after the time", b.Enter(storetest.Second, storetest.PotassiumIndex, "6.9"), "ABNORMAL")
	b.Want("another after the time", b.Enter(storetest.Second, storetest.PotassiumIndex, "6.8"), "CALLOUT_PENDING")
}

// decided checks that only administrators, and users with the permission, can change the settings, and that the limits
// apply.
func decided(b *storetest.Fixture) {
	u := b.Decide
	ctx, lab := b.T.Context(), storetest.Lab(b.T, 12)
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
		{RepeatWithinHours: n(-1)}, {RepeatWithinHours: n(169)}, {RemindHours: n(-1)}, {RemindHours: n(169)},
	} {
		_, err := u.Put(ctx, admin, lab, wrong)
		b.Want("out of bounds", apperr.KindOf(err), apperr.Invalid)
	}
	held, err := u.Put(ctx, permitted, lab, settings.Own{
		EscalateMinutes: n(5), EscalateMost: n(7), ReadBackNeeded: &no, RepeatWithinHours: n(48),
	})
	b.Must(err)
	b.Want("what holds", held, "{{5m0s 7} false 48h0m0s 8h0m0s}")
	b.Pending()
	b.Want("the deadline", b.Due(storetest.Potassium), "level 0, due 09:05:00")
	held, err = u.Put(ctx, admin, lab, settings.Own{})
	b.Must(err)
	b.Want("the defaults again", held, "{{30m0s 2} true 0s 8h0m0s}")
	other, err := u.Get(ctx, storetest.Lab(b.T, 13))
	b.Must(err)
	b.Want("another laboratory", other, held)
}

func visibility(b *storetest.Fixture) {
	b.Pending()
	b.SetValue(storetest.Count, storetest.CountIndex, "5")
	b.Judged(12, storetest.Count)
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
		open, err := b.Worklist.Open(b.T.Context(), storetest.Lab(b.T, 12), c.v)
		b.Must(err)
		b.Want("worklist", len(open.Items), strings.Count(c.want, "CALLOUT"))
	}
	blind := storetest.Asha
	blind.Sees = callout.Visibility{Rule: callout.SessionDepartments, Departments: []int64{4}}
	_, err := b.Save.Save(b.T.Context(), storetest.Lab(b.T, 12), blind,
		save.Callout{BillID: storetest.Bill, ReportIDs: []int64{storetest.Potassium}, Recipients: []string{"a"}, Methods: []string{"b"}})
	b.Want("a callout of what one does not see", apperr.KindOf(err), apperr.Invalid)
}

func figures(b *storetest.Fixture) {
	b.Pending()
	b.Clock.Advance(12 * time.Minute)
	b.Must(b.Record(save.Callout{ReportIDs: []int64{storetest.Potassium}}))
	b.SetValue(storetest.Count, storetest.CountIndex, "5")
	b.Judged(12, storetest.Count)
	b.Clock.Advance(31 * time.Minute)
	sum, err := b.Worklist.Summary(b.T.Context(), storetest.Lab(b.T, 12), storetest.Everything, "", "")
	b.Must(err)
	b.Want(
		"summary",
		fmt.Sprint(sum.Open, sum.Overdue, sum.Called, sum.InTime, *sum.Median, *sum.P90, sum.Limit),
		"1 1 1 1 12 12 30m0s",
	)
	open, err := b.Worklist.Open(b.T.Context(), storetest.Lab(b.T, 12), storetest.Everything)
	b.Must(err)
	b.Want(
		"worklist",
		fmt.Sprintf("%d %d %s", len(open.Items), open.Items[0].Report.ID, open.Items[0].DetectedAt.Format(time.TimeOnly)),
		"1 7002 09:12:00",
	)
	b.Want("not quiet", open.QuietSince.IsZero(), true)
	other, err := b.Worklist.Open(b.T.Context(), storetest.Lab(b.T, 13), storetest.Everything)
	b.Must(err)
	b.Want("another laboratory's worklist", len(other.Items), 0)
	b.Want("where nothing ever waited", other.QuietSince.IsZero(), true)
	for doctor, want := range map[int64]string{301: "09:43:00", 302: "00:00:00"} { // the bill belongs to doctor 301
		b.SetValue(storetest.Count, storetest.CountIndex, "14")
		b.Judged(12, storetest.Count)
		own := callout.Visibility{Rule: callout.DoctorBills, PersonID: doctor}
		quiet, err := b.Worklist.Open(b.T.Context(), storetest.Lab(b.T, 12), own)
		b.Must(err)
		b.Want("quiet since", quiet.QuietSince.Format(time.TimeOnly), want)
	}
}

// race concurrently calls, saves drafts, evaluates and escalates on the same bill.
func race(b *storetest.Fixture) {
	b.Pending()
	b.Clock.Advance(31 * time.Minute)
	var all sync.WaitGroup
	var mu sync.Mutex
	won := 0
	for i := range 24 {
		all.Go(func() {
			var err error
			switch i % 4 {
			case 0:
				if err = b.Record(save.Callout{ReportIDs: []int64{storetest.Potassium}}); err == nil {
					mu.Lock()
					won++
					mu.Unlock()
				}
			case 1:
				err = b.Record(save.Callout{Draft: true, ReportIDs: []int64{storetest.Potassium}})
			case 2:
				_, err = b.Evaluate.Reports(b.T.Context(), storetest.Lab(b.T, 12), []int64{storetest.Potassium, storetest.Count}, callout.Event{Named: true})
			default:
				_, err = b.Evaluate.Due(b.T.Context(), storetest.Lab(b.T, 12), storetest.Bill)
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
	view, err := b.View(b.T.Context(), storetest.Lab(b.T, 12), storetest.Bill, storetest.Everything)
	b.Must(err)
	if won != 1 || escalations > 1 || view.Draft != nil || b.Due(storetest.Potassium) != "closed" {
		b.T.Fatalf("%d callouts, %d escalations, draft %v, deadline %s, want one callout, at most one escalation, no draft, a closed deadline",
			won, escalations, view.Draft, b.Due(storetest.Potassium))
	}
}

func refused(b *storetest.Fixture) {
	b.Pending()
	before := len(b.Sent())
	err := b.Record(save.Callout{ReportIDs: []int64{storetest.Potassium, storetest.Count}})
	b.Want("one of two is not critical", apperr.KindOf(err), apperr.Conflict)
	b.Want("listed", b.Listed(storetest.Everything), "[7001 CALLOUT_PENDING 7.1]")
	latest, err := b.History.Latest(b.T.Context(), storetest.Lab(b.T, 12), storetest.Everything, []int64{storetest.Potassium})
	b.Must(err)
	b.Want("rows and messages", fmt.Sprint(len(latest), len(b.Sent())-before), "0 0")
	if !slices.Equal(b.Notices(), []string{"pending"}) {
		b.T.Fatal(b.Notices())
	}
}
