package callout

import (
	"fmt"
	"hash/maphash"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/labplatform/labplatform/pkg/lab/clinical"
)

// The world of the exploration has one report with two parameters, two patients and two audiences. Potassium is
// critical below 2.5 and above 6.5, by other limits above 7.5; sodium is critical below 120. The world models
// independently what each audience was told; it uses none of the rules that it checks.
const (
	potassium, sodium = 0, 1
	northClinic       = 45
	southClinic       = 46
)

var audiences = [2]Audience{{OrgID: northClinic, DoctorID: 391}, {OrgID: southClinic, DoctorID: 392}}

// told is a value that an audience was told.
type told struct {
	audience int
	patient  int64
	key      int
	value    string
	notice   string // the statement, of a notice that was read
	at       time.Duration
	informed bool          // that it is wrong
	told     time.Duration // when
}

// sentNotice is a notice that was delivered.
type sentNotice struct {
	key      string
	audience int
	values   [2]string
	read     bool
	patient  int64
	at       time.Duration
	over     bool // withdrawn
}

type world struct {
	// State that other programs wrote.
	values    [2]string
	limits    int
	patient   int64
	merged    bool
	audience  int
	dismissed bool
	// earlier is the history of the patient: 0: none; 1: a critical result whose call reached the first audience and was
	// read back; 2: the same, and the call was corrected; 3: the same, and a normal result since.
	earlier    int
	typeOff    bool
	delayed    bool
	changedAt  [2]time.Duration
	foreign    []Foreign
	foreigners int

	// State that the service wrote.
	status Status
	wait   *Episode
	ledger Ledger
	queue  []Message

	// Knowledge of people.
	calledAt  [2]time.Duration
	called    [2]string // the value that a call stated and that has been so ever since; "" without
	said      [2]bool   // a statement of this report is about it
	knowledge []told
	notices   []sentNotice
	calls     int
	escalated [2]string // the value of the last escalation of the wait
	sent      []string
	now       time.Duration
	unjudged  bool // a value became blank and three minutes have not passed since
}

var origin = time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC)

// clone copies a world. Slices that are only appended to are shared: clipped, so that an append copies them.
func (w *world) clone() *world {
	c := *w
	c.ledger, c.sent, c.queue = slices.Clip(w.ledger), slices.Clip(w.sent), slices.Clip(w.queue)
	c.knowledge, c.notices = slices.Clone(w.knowledge), slices.Clone(w.notices)
	if w.wait != nil {
		wait := *w.wait
		c.wait = &wait
	}
	return &c
}

// removed stands for a value whose row another program removed.
const removed = "removed"

// criticality judges a value independently: 1 high, -1 low, 0 not critical, 2 unreadable, 3 blank.
func (w *world) criticality(key int) int {
	v := w.values[key]
	n, err := strconv.ParseFloat(v, 64)
	switch {
	case v == "", v == removed:
		return 3
	case err != nil:
		return 2
	case key == sodium && n < 120, key == potassium && n < 2.5:
		return -1
	case key == potassium && n > [2]float64{6.5, 7.5}[w.limits]:
		return 1
	}
	return 0
}

func equal(a, b string) bool {
	x, errX := strconv.ParseFloat(a, 64)
	y, errY := strconv.ParseFloat(b, 64)
	if errX == nil && errY == nil {
		return x == y
	}
	return a == b
}

var bandOfLimits = [2]Formats{formatsOf("6.5"), formatsOf("7.5")}

func formatsOf(high string) Formats {
	limit := func(low, high string) []clinical.Band {
		bound := func(s string) *string {
			if s == "" {
				return nil
			}
			return &s
		}
		critical, err := clinical.NewRange(bound(low), bound(high))
		if err != nil {
			panic(err)
		}
		return []clinical.Band{{Gender: 'A', Reference: clinical.Reference{Critical: critical}}}
	}
	return Formats{66: {
		{ID: 6602, TestID: 66, Index: potassium, Order: 1, Name: "Potassium", Bands: limit("2.5", high), Printed: []Printed{{}}},
		{ID: 6603, TestID: 66, Index: sodium, Order: 2, Name: "Sodium", Bands: limit("120", ""), Printed: []Printed{{}}},
	}}
}

type findingKey struct {
	values [2]string
	limits int
}

// findings remembers judgements, which are the same for each history. They are shared and not changed.
var findings = struct {
	sync.RWMutex

	byKey map[findingKey]Finding
}{byKey: map[findingKey]Finding{}}

func findingOf(values [2]string, limits int) Finding {
	findings.RLock()
	f, ok := findings.byKey[findingKey{values, limits}]
	findings.RUnlock()
	if ok {
		return f
	}
	readings := []Reading{{Index: potassium, Order: 1, Value: values[0]}, {Index: sodium, Order: 2, Value: values[1]}}
	readings = slices.DeleteFunc(readings, func(r Reading) bool { return r.Value == removed })
	f = Judge(Chart{Tests: []int64{66}, Readings: readings}, bandOfLimits[limits])
	findings.Lock()
	defer findings.Unlock()
	findings.byKey[findingKey{values, limits}] = f
	return f
}

var exploredSettings = Settings{Pace: Pace{After: 30 * time.Minute, Most: 1}, ReadBackNeeded: true, RemindAfter: 8 * time.Hour}

func (w *world) facts() *Facts {
	f := &Facts{
		Report:   Report{ID: 1, BillID: 9, PatientID: w.patient, Status: w.status, Dismissed: w.dismissed},
		Audience: audiences[w.audience], Finding: findingOf(w.values, w.limits), ValuesAt: origin.Add(max(w.changedAt[0], w.changedAt[1])),
		Ledger: w.ledger, Foreign: w.foreign, Settings: exploredSettings,
	}
	f.Finding.Values = slices.Clone(f.Finding.Values)
	for i := range f.Finding.Values {
		f.Finding.Values[i].At = origin.Add(w.changedAt[f.Finding.Values[i].Index])
	}
	if w.values[potassium] == removed { // when it was removed is not known
		f.ValuesAt = origin.Add(w.changedAt[sodium])
	}
	if w.wait != nil {
		e := *w.wait
		f.Wait = &e
	}
	if w.merged {
		f.Merged = []int64{1}
	}
	if w.earlier > 0 && (w.patient == 1 || w.merged) {
		f.Settings.RepeatWithin = 24 * time.Hour
		f.Earlier = earlierResults(w.earlier)
	}
	return f
}

func earlierResults(kind int) []Earlier {
	before := origin.Add(-time.Hour)
	critical := findingOf([2]string{"7.2", "140"}, 0)
	called := Earlier{ReportID: 2, Finding: critical, Ledger: Ledger{{
		Key: "call:1", Kind: Call, PatientID: 1, Parameters: critical.Critical, Audience: audiences[0], Heard: true,
		ReadBack: true, SaidAt: before,
	}}}
	switch kind {
	case 2:
		called.Finding = findingOf([2]string{"4.2", "140"}, 0)
		called.Ledger = append(called.Ledger, Statement{
			Key: "correction:1", Kind: Correction, PatientID: 1, Parameters: critical.Critical, TakesBack: "call:1", SaidAt: before,
		})
	case 3:
		return []Earlier{{ReportID: 3, Finding: findingOf([2]string{"4.1", "140"}, 0)}, called}
	}
	return []Earlier{called}
}

// step is an event of the alphabet. do changes the world and reports whether the event applies.
type step struct {
	name string
	do   func(w *world) (Event, bool)
}

func named(f func(w *world) bool) func(w *world) (Event, bool) {
	return func(w *world) (Event, bool) { return Event{Named: true}, f(w) }
}

// enter saves a value and has the report evaluated.
func enter(key int, value string) step {
	name := [2]string{"potassium", "sodium"}[key] + " is " + strconv.Quote(value)
	return step{name, named(func(w *world) bool { return w.set(key, value) })}
}

func (w *world) set(key int, value string) bool {
	if w.values[key] == value {
		return false
	}
	if !equal(w.called[key], value) {
		w.called[key] = ""
	}
	w.values[key], w.changedAt[key] = value, w.now
	return true
}

func alphabet() []step {
	return []step{
		enter(potassium, "5"), enter(potassium, "7.1"), enter(potassium, "7.10"), enter(potassium, "7.9"),
		enter(potassium, "2.1"), enter(potassium, "Haemolysed"), enter(potassium, removed),
		enter(sodium, "140"), enter(sodium, "118"),
		{"potassium is blank, and a loop checks at once", func(w *world) (Event, bool) {
			ok := w.criticality(potassium) < 2 && !w.delayed
			w.values[potassium], w.changedAt[potassium], w.unjudged = "", w.now, true
			return Event{}, ok
		}},
		{"three minutes pass, and the sweeper checks", func(w *world) (Event, bool) {
			ok := w.unjudged
			w.now += 3 * time.Minute
			w.settleBlank()
			return Event{}, ok
		}},
		{"called", func(w *world) (Event, bool) { return w.call(NewCall{ReadBack: true, Reached: true}) }},
		{"called again, forced", func(w *world) (Event, bool) {
			return w.call(NewCall{Force: true, ReadBack: true, Reached: true})
		}},
		{"attempt that was heard", func(w *world) (Event, bool) { return w.call(NewCall{Unheard: true, Reached: true}) }},
		{"attempt that reached no one", func(w *world) (Event, bool) { return w.call(NewCall{Draft: true}) }},
		{"another program records a call", named(func(w *world) bool {
			if w.foreigners > 0 || w.dismissed {
				return false
			}
			w.foreigners++
			w.foreign = []Foreign{{ID: 77, PatientID: w.patient, Audience: audiences[w.audience], ReadBack: true, CreatedAt: w.at()}}
			w.hear(w.audience)
			return true
		})},
		{"the deadline passes", func(w *world) (Event, bool) {
			if w.wait == nil {
				return Event{}, false
			}
			due := w.wait.DueAt
			if due.IsZero() {
				due = w.wait.RemindAt
			}
			if due.IsZero() {
				return Event{}, false
			}
			w.now = max(w.now, due.Sub(origin)) + 3*time.Minute
			w.settleBlank()
			return Event{}, true
		}},
		{"the limits change", named(func(w *world) bool { w.limits = 1 - w.limits; return true })},
		{"dismissed, or no longer dismissed", named(func(w *world) bool {
			w.dismissed = !w.dismissed
			w.called = [2]string{}
			return true
		})},
		{"moved to another patient, or back", named(func(w *world) bool {
			if w.merged {
				return false
			}
			w.patient, w.audience = 3-w.patient, int(2-w.patient)
			w.called, w.said = [2]string{}, [2]bool{}
			return true
		})},
		{"another program sets the state to normal, or to waiting", named(func(w *world) bool {
			w.status = map[bool]Status{true: Normal, false: Pending}[w.status.Open()]
			return true
		})},
		{"the patient's records are merged", named(func(w *world) bool {
			if w.patient == 2 {
				return false
			}
			w.patient, w.merged = 2, true
			return true
		})},
		{"the bill gets another clinic and doctor", named(func(w *world) bool { w.audience = 1 - w.audience; return true })},
		{"the type is switched", func(w *world) (Event, bool) {
			w.typeOff = !w.typeOff
			return Event{NoticesBack: !w.typeOff && w.wait != nil && w.wait.NoticesOff}, true
		}},
		{"notices are delayed, or go out", func(w *world) (Event, bool) { w.delayed = !w.delayed; return Event{}, true }},
		{"the newest notice is read", func(w *world) (Event, bool) { return Event{}, w.read() }},
		{"the justifying call is corrected", named(func(w *world) bool {
			ok := w.earlier == 1
			w.earlier = 2
			return ok
		})},
	}
}

// person returns the identity of the patient, which a merge of records does not change.
func (w *world) person() int64 {
	if w.merged {
		return 1
	}
	return w.patient
}

func (w *world) at() time.Time { return origin.Add(w.now) }

// settleBlank is the effect of three minutes, or of a named evaluation: blank and unreadable values count.
func (w *world) settleBlank() {
	w.unjudged = false
	for key := range w.values {
		if c := w.criticality(key); c >= 2 && w.changedAt[key] > w.calledAt[key] {
			w.called[key] = ""
		}
	}
}

func (w *world) call(c NewCall) (Event, bool) {
	c.SaidAt = w.at()
	return Event{Call: &c}, !w.dismissed
}

// hear notes that an audience was told the critical values, or the values of the wait.
func (w *world) hear(audience int) {
	for key, value := range w.values {
		c := w.criticality(key)
		if c == 0 {
			continue
		}
		if c == 2 || c == 3 {
			value = ""
			if w.wait != nil {
				for i := range w.wait.Parameters {
					if w.wait.Parameters[i].Index == key {
						value = w.wait.Parameters[i].RawValue
					}
				}
			}
		}
		if value != "" {
			w.called[key], w.calledAt[key], w.said[key] = value, w.now, true
			w.know(told{audience: audience, patient: w.person(), key: key, value: value, at: w.now})
		}
	}
}

// know replaces what the audience was told of the parameter, unless that is newer.
func (w *world) know(k told) {
	newer := func(o told) bool {
		return o.notice == "" && o.audience == k.audience && o.patient == k.patient && o.key == k.key && o.at > k.at
	}
	if slices.ContainsFunc(w.knowledge, newer) {
		return
	}
	w.knowledge = slices.DeleteFunc(w.knowledge, func(o told) bool {
		return o.audience == k.audience && o.patient == k.patient && o.key == k.key && (k.notice == "" || o.notice != "" && o.value == k.value)
	})
	w.knowledge = append(w.knowledge, k)
}

func (w *world) read() bool {
	for i := len(w.notices) - 1; i >= 0; i-- {
		n := &w.notices[i]
		if n.read || n.over {
			continue
		}
		n.read = true
		for key, v := range n.values {
			if v != "" {
				w.know(told{audience: n.audience, patient: n.patient, key: key, value: v, notice: n.key, at: n.at})
			}
		}
		return true
	}
	return false
}

// rules is Decide, or a mutant of it.
type rules func(f *Facts, e Event, now time.Time) Decision

// apply writes a decision as the store does, then delivers. It returns the violated invariant.
func (w *world) apply(d *Decision, e Event) string {
	for _, s := range d.Statements {
		if slices.ContainsFunc(w.ledger, func(o Statement) bool { return o.Key == s.Key }) {
			return "the statement " + s.Key + " is made twice"
		}
		w.ledger = append(w.ledger, s)
		for i := range s.Parameters {
			if s.Kind == Notice || s.Kind == Call || s.Kind == Attempt {
				w.said[s.Parameters[i].Index] = true
			}
			if s.Kind == Escalation || s.Kind == Reminder {
				w.escalated[s.Parameters[i].Index] = s.Parameters[i].RawValue
			}
		}
	}
	w.foreign = nil
	switch d.WaitChange {
	case WaitOpened, WaitRenewed:
		w.escalated = [2]string{}
		fallthrough
	case WaitChanged:
		e := *d.Wait
		w.wait = &e
	case WaitClosed:
		w.wait = nil
	}
	w.status = d.Status
	if d.Recorded != nil {
		w.recorded(d.Recorded)
	}
	w.queue = append(w.queue, d.Messages...)
	if w.delayed {
		return ""
	}
	return w.deliver()
}

func (w *world) recorded(s *Statement) {
	if s.Kind == Call {
		w.calls++
	}
	for i := range s.Parameters {
		p := &s.Parameters[i]
		if c := w.criticality(p.Index); s.Kind == Call && (c >= 2 || c != 0 && equal(w.values[p.Index], p.RawValue)) {
			w.called[p.Index], w.calledAt[p.Index] = p.RawValue, w.now
		}
		if s.Heard {
			w.know(told{audience: w.audience, patient: w.person(), key: p.Index, value: p.RawValue, at: w.now})
		}
	}
}

func audienceOf(a Audience) int {
	if a.OrgID == southClinic {
		return 1
	}
	return 0
}

// deliver delivers the messages. Each is checked as the dispatcher does.
func (w *world) deliver() string {
	queue := w.queue
	w.queue = nil
	for _, m := range queue {
		if m.Kind == Escalate && !Still(w.ledger, w.wait, m.Key) {
			continue
		}
		if slices.Contains(w.sent, m.Key) && (m.Kind == Announce || m.Kind == Escalate) {
			return "the message " + m.Key + " is sent twice"
		}
		if m.Kind != Withdraw {
			w.sent = append(w.sent, m.Key)
		}
		if wrong := w.hand(m); wrong != "" {
			return wrong
		}
	}
	return ""
}

// unsent notes that a notice was not stored.
func (w *world) unsent(key string) {
	w.ledger = slices.Clone(w.ledger) // other worlds share it
	for i := range w.ledger {
		if w.ledger[i].Key == key {
			w.ledger[i].NotSent = true
		}
	}
}

func (w *world) hand(m Message) string {
	switch m.Kind {
	case Announce:
		if !Still(w.ledger, w.wait, m.Key) {
			return ""
		}
		if w.typeOff {
			w.wait.NoticesOff = true
			w.unsent(m.Key)
			return ""
		}
		n := sentNotice{key: m.Key, patient: w.person(), at: w.now, audience: audienceOf(m.Audience)}
		for i := range w.ledger {
			if w.ledger[i].Key == m.Key {
				for _, p := range w.ledger[i].Parameters {
					n.values[p.Index] = p.RawValue
				}
			}
		}
		if n.values[0] == "" && n.values[1] == "" {
			return "the notice " + m.Key + " has no value"
		}
		w.notices = append(w.notices, n)
	case Withdraw:
		return w.withdraw(m)
	case Correct:
		return w.correct(m.Audience, m.Key)
	}
	return ""
}

func (w *world) withdraw(m Message) string {
	for i := range w.notices {
		n := &w.notices[i]
		if n.key != m.Notice || n.over {
			continue
		}
		if m.Called {
			return ""
		}
		if !n.read {
			n.over = !m.Partly
			for key := range n.values {
				if w.ledger.takenBack(n.key, Key{66, key}) {
					n.values[key] = ""
				}
			}
			return ""
		}
		for _, a := range m.Tell {
			if wrong := w.correct(a.Audience, m.Key); wrong != "" {
				return wrong
			}
		}
	}
	return ""
}

// correct informs an audience that a value was wrong. It is a violation when none was, or when each audience knows it.
func (w *world) correct(to Audience, key string) string {
	if !StillWrong(w.ledger, key, to) {
		return ""
	}
	audience := audienceOf(to)
	reason := false
	for i := range w.knowledge {
		k := &w.knowledge[i]
		untrue := w.untrue(k)
		reason = reason || untrue && (!k.informed || k.told == w.now)
		if k.audience == audience && untrue && !k.informed {
			k.informed, k.told = true, w.now
		}
	}
	if !reason {
		return fmt.Sprintf("3: clinic %d is told by %s that a value was wrong; none was, or it was told before", 45+audience, key)
	}
	return ""
}

// untrue reports whether a told value is no longer true. Another critical value makes it not untrue.
func (w *world) untrue(k *told) bool {
	if k.patient != w.person() || w.dismissed {
		return true
	}
	switch w.criticality(k.key) {
	case 0:
		return !equal(w.values[k.key], k.value)
	case 2:
		return w.values[k.key] != k.value && w.changedAt[k.key] > k.at
	case 3:
		return !w.unjudged && w.changedAt[k.key] > k.at
	}
	return false
}

// suppressible applies the repeat policy independently.
func (w *world) suppressible(key int) bool {
	return w.earlier == 1 && key == potassium && !w.said[key] && w.audience == 0 && w.criticality(key) == 1 && (w.patient == 1 || w.merged) &&
		func() bool { n, _ := strconv.ParseFloat(w.values[key], 64); return n <= 7.2 }()
}

// violated returns the first invariant that does not hold.
func (w *world) violated() string {
	open, critical, communicated := []int{}, 0, 0
	for key := range w.values {
		c := w.criticality(key)
		if c != 1 && c != -1 || w.dismissed {
			continue
		}
		critical++
		if w.called[key] != "" && equal(w.called[key], w.values[key]) {
			communicated++
			continue
		}
		open = append(open, key)
	}
	suppressed := len(open) > 0 && !slices.ContainsFunc(open, func(key int) bool { return !w.suppressible(key) })
	if suppressed && w.wait == nil {
		open = nil
	}
	switch {
	case len(open) > 0 && (w.wait == nil || w.wait.DueAt.IsZero() && w.wait.RemindAt.IsZero()):
		return "1: a critical value is not communicated and has no deadline and no reminder"
	case len(open) > 0 && !w.status.Open():
		return "1: a critical value is not communicated and the report does not wait: " + w.status.String()
	case len(open) == 0 && w.status.Open() && !w.waitsUnread():
		return "1: the report waits, and no value is critical, blank or unreadable: " + w.status.String()
	case w.wait == nil && w.status.Open():
		return "1: the report waits without a deadline"
	case critical > 0 && communicated == critical && w.status != Done && (w.wait == nil || !w.waitsUnread()):
		return "5: everything critical is communicated, and the report is " + w.status.String()
	case w.status == Done && critical > communicated:
		return "5: the report is done with a critical value that is not communicated"
	case w.status == Done && w.calls+w.foreigners == 0:
		return "7: the report is done without a call"
	}
	for _, key := range open {
		if !slices.ContainsFunc(w.wait.Parameters, func(p Parameter) bool { return p.Index == key && equal(p.RawValue, w.values[key]) }) {
			return "1: the wait does not have the value that is critical now"
		}
		if e := w.escalated[key]; w.wait.Exhausted() && e != "" && worse(w.values[key], e) {
			return "1: a value got worse after the last escalation, and no run began"
		}
	}
	for i := range w.knowledge {
		k := &w.knowledge[i]
		if w.untrue(k) && !k.informed && !w.delayed {
			return fmt.Sprintf("2: clinic %d knows %q, which is no longer true, and was not informed", 45+k.audience, k.value)
		}
	}
	for key := range w.values {
		if w.criticality(key) == 2 && !w.dismissed && !w.onBoard(key) {
			return "6: a value that cannot be judged is not on the board"
		}
	}
	return w.silentNotice(open)
}

// onBoard reports whether the board has the unreadable value.
func (w *world) onBoard(key int) bool {
	return slices.ContainsFunc(w.ledger.openAll(Unclear), func(s Statement) bool {
		p := s.about(Key{66, key})
		return p != nil && p.RawValue == w.values[key]
	})
}

// silentNotice returns the violation of a critical value without a notice, or with a withdrawn one.
func (w *world) silentNotice(open []int) string {
	for _, index := range open {
		if last := w.ledger.last(Key{66, index}); last == nil || last.Kind == Call || w.ledger.takenBack(last.Key, Key{66, index}) {
			return "1: a critical value is not communicated, and no notice was made"
		}
		key := w.ledger.last(Key{66, index}).Key
		if slices.ContainsFunc(w.notices, func(n sentNotice) bool { return n.key == key && n.over }) {
			return "1: the notice of a critical value is withdrawn"
		}
		if !w.delayed && !w.wait.NoticesOff && !w.wait.Adopted && !w.informed(index) {
			return "1: nothing about a critical value reached the clinic of the bill"
		}
	}
	return ""
}

// informed reports whether the clinic of the bill has a notice of the parameter, or heard about it.
func (w *world) informed(key int) bool {
	return slices.ContainsFunc(w.notices, func(n sentNotice) bool {
		return n.audience == w.audience && n.patient == w.person() && n.values[key] != "" && !n.over
	}) || slices.ContainsFunc(w.knowledge, func(k told) bool { return k.audience == w.audience && k.patient == w.person() && k.key == key })
}

func worse(a, b string) bool {
	x, _ := strconv.ParseFloat(a, 64)
	y, _ := strconv.ParseFloat(b, 64)
	if (x > 5) != (y > 5) {
		return true
	}
	return x > 5 && x > y || x < 5 && x < y
}

// waitsUnread reports whether a value is unreadable or blank.
func (w *world) waitsUnread() bool {
	for key := range w.values {
		if w.criticality(key) >= 2 {
			return true
		}
	}
	return false
}

// run makes one step in a copy of the world; ok is false when the step does not apply.
func (w *world) run(s step, decide rules) (next *world, wrong string, ok bool) {
	next = w.clone()
	next.now += time.Second
	e, ok := s.do(next)
	if !ok {
		return nil, "", false
	}
	if e.Named {
		next.settleBlank()
	}
	d := decide(next.facts(), e, next.at())
	if d.Refused != Accepted {
		return nil, "", false
	}
	if wrong := next.apply(&d, e); wrong != "" {
		return next, wrong, true
	}
	if wrong := next.violated(); wrong != "" {
		return next, wrong, true
	}
	again := decide(next.facts(), Event{}, next.at())
	if len(again.Statements)+len(again.Messages)+len(again.Logs) > 0 || again.Status != next.status || again.WaitChange != WaitUnchanged {
		return next, fmt.Sprintf("8: a second decision changes something: %d statements, %d messages, %s, wait %d",
			len(again.Statements), len(again.Messages), again.Status, again.WaitChange), true
	}
	return next, "", true
}

// hash is equal for worlds with equal futures. It leaves out identifiers and absolute times, and statements that no
// longer hold, except the last one.
func (w *world) hash(seed maphash.Seed) uint64 {
	b := make([]byte, 0, 1024)
	flag := func(values ...bool) { b = appendFlags(b, values...) }
	text := func(values ...string) {
		for _, v := range values {
			b = append(append(b, v...), 0)
		}
	}
	b = append(b, byte(w.limits), byte(w.patient), byte(w.audience), byte(w.earlier), byte(w.status), byte(w.foreigners))
	text(w.values[0], w.values[1], canonical(w.called[0]), canonical(w.called[1]), canonical(w.escalated[0]), canonical(w.escalated[1]))
	flag(w.merged, w.dismissed, w.typeOff, w.delayed, w.said[0], w.said[1], w.calls > 0, w.unjudged,
		w.now-w.changedAt[potassium] >= settled, w.ledger.open(Unclear) != nil, w.ledger.open(Suppression) != nil, w.calledHere())
	if u := w.ledger.open(Unclear); u != nil {
		flag(slices.ContainsFunc(w.ledger, func(s Statement) bool { return s.Kind == UnclearNotice && s.Because == u.Key }))
	}
	if w.wait != nil {
		b = append(b, byte(w.wait.Level))
		flag(w.wait.DueAt.IsZero(), w.wait.RemindAt.IsZero(), w.wait.Adopted, w.wait.NoticesOff)
		for i := range w.wait.Parameters {
			b = append(b, byte(w.wait.Parameters[i].Index))
			text(canonical(w.wait.Parameters[i].RawValue))
		}
	}
	for key := range w.values {
		b = w.ledgerOf(b, key)
	}
	b = sorted(b, len(w.knowledge), func(part []byte, i int) []byte {
		k := &w.knowledge[i]
		part = append(part, byte(k.audience), byte(k.patient), byte(k.key))
		part = appendFlags(part, k.informed, k.notice != "", w.changedAt[k.key] > k.at)
		return append(part, canonical(k.value)...)
	})
	for i := range w.queue {
		m := &w.queue[i]
		b = append(b, byte(m.Kind), byte(m.Audience.OrgID), byte(len(m.Tell)))
		flag(m.Called, m.Partly)
	}
	return maphash.Bytes(seed, b)
}

func appendFlags(b []byte, values ...bool) []byte {
	for _, v := range values {
		if v {
			b = append(b, 1)
		} else {
			b = append(b, 0)
		}
	}
	return b
}

// sorted appends n parts in their order, each once.
func sorted(b []byte, n int, appendPart func(part []byte, i int) []byte) []byte {
	parts := make([]string, n)
	scratch := make([]byte, 0, 64)
	for i := range parts {
		scratch = appendPart(scratch[:0], i)
		parts[i] = string(scratch)
	}
	slices.Sort(parts)
	for _, p := range slices.Compact(parts) {
		b = append(append(b, p...), 0)
	}
	return append(b, 0xff)
}

// canonical returns one form of equal numbers.
func canonical(v string) string {
	if v == "7.10" {
		return "7.1"
	}
	return v
}

func (w *world) calledHere() bool {
	return slices.ContainsFunc(w.ledger, func(s Statement) bool {
		return s.Kind == Call && (s.PatientID == w.patient || w.merged)
	})
}

// ledgerOf appends the statements about one parameter.
func (w *world) ledgerOf(b []byte, key int) []byte {
	k := Key{66, key}
	one := func(part []byte, s *Statement) []byte {
		read, over := false, false
		for i := range w.notices {
			if w.notices[i].key == s.Key {
				read, over = w.notices[i].read, w.notices[i].over
			}
		}
		since := w.wait != nil && !s.SaidAt.Before(w.wait.DetectedAt)
		part = append(append(part, s.Kind...), 0, byte(s.PatientID), byte(s.Audience.OrgID), byte(len(s.Parameters)))
		absent := s.about(k).Absent && !w.ledger.takenBack(returned(s), k)
		part = appendFlags(part, absent, s.Heard, w.ledger.takenBack(s.Key, k), s.SaidAt.Before(origin.Add(w.changedAt[key])), read, over, since, s.NotSent)
		return append(part, canonical(s.about(k).RawValue)...)
	}
	if last := w.ledger.last(k); last != nil {
		b = one(b, last)
	}
	holding := []*Statement{}
	for i := range w.ledger {
		s := &w.ledger[i]
		if s.about(k) != nil && (s.Kind.aboutValue() && (s.Heard || s.Kind == Notice) && !w.ledger.takenBack(s.Key, k) || s.Kind == LimitsChanged) {
			holding = append(holding, s)
		}
	}
	b = sorted(b, len(holding), func(part []byte, i int) []byte { return one(part, holding[i]) })
	for i := len(w.ledger) - 1; i >= 0; i-- {
		s := &w.ledger[i]
		if (s.Kind == Notice || s.Kind == Escalation || s.Kind == Reminder || s.Kind == Attempt) && s.about(k) != nil {
			return append(append(b, canonical(s.about(k).RawValue)...), 0xfe)
		}
	}
	return append(b, 0xfe)
}

// explored is the outcome of an exploration.
type explored struct {
	histories, states int
	story             []string // of the first violation
	wrong             string
}

// node is a world with the steps that led to it.
type node struct {
	w     *world
	start *world
	steps []byte
}

// found is a node of the next level. wrong names the invariant that does not hold; empty when all do.
type found struct {
	node

	hash  uint64
	wrong string
}

// level is one level of an exploration: all nodes that a number of steps reaches.
type level struct {
	frontier []node
	steps    []step
	decide   rules
	seed     maphash.Seed
	seen     map[uint64]bool // by the previous levels
	last     bool            // no level follows
}

// expand makes each step from the nodes first, first+every and so on, and forgets these nodes. It returns the worlds
// that are new, and ends at a violation.
func (l *level) expand(first, every int) (list []found, histories int) {
	own := map[uint64]bool{}
	for i := first; i < len(l.frontier); i += every {
		from := l.frontier[i]
		l.frontier[i].w = nil // memory: the next level has ten times as many
		for s := range l.steps {
			next, wrong, ok := from.w.run(l.steps[s], l.decide)
			if !ok {
				continue
			}
			histories++
			to := found{node: node{w: next, start: from.start}, wrong: wrong}
			if wrong == "" {
				if l.last {
					continue
				}
				to.hash = next.hash(l.seed)
				if l.seen[to.hash] || own[to.hash] {
					continue
				}
				own[to.hash] = true
			}
			to.steps = append(slices.Clone(from.steps), byte(s))
			list = append(list, to)
			if wrong != "" {
				return list, histories
			}
		}
	}
	return list, histories
}

// explore runs all histories up to a depth, breadth first, so that the first counterexample is a shortest one.
func explore(start []*world, depth int, decide rules) (x explored) {
	l := level{steps: alphabet(), decide: decide, seed: maphash.MakeSeed(), seen: map[uint64]bool{}}
	for _, w := range start {
		l.frontier = append(l.frontier, node{w: w, start: w})
	}
	for n := range depth {
		l.last = n == depth-1
		parts, counts := make([][]found, runtime.GOMAXPROCS(0)), make([]int, runtime.GOMAXPROCS(0))
		var all sync.WaitGroup
		for part := range parts {
			all.Go(func() { parts[part], counts[part] = l.expand(part, len(parts)) })
		}
		all.Wait()
		l.frontier = nil
		for part := range parts {
			x.histories += counts[part]
			for _, to := range parts[part] {
				if to.wrong != "" {
					x.wrong, x.story = to.wrong, tell(to.start, to.steps, l.steps, decide)
					return x
				}
				if !l.seen[to.hash] {
					l.seen[to.hash] = true
					l.frontier = append(l.frontier, to.node)
				}
			}
		}
		x.states = len(l.seen)
	}
	return x
}

// tell repeats a history and returns a line for each event: the state and the statements with their audience.
func tell(w *world, history []byte, steps []step, decide rules) (lines []string) {
	for _, s := range history {
		before := len(w.ledger)
		next, _, _ := w.run(steps[s], decide)
		line := steps[s].name + " -> " + next.status.String()
		for _, said := range next.ledger[before:] {
			line += "; " + string(said.Kind)
			for i := range said.Parameters {
				line += " " + said.Parameters[i].RawValue
			}
			if said.Audience.OrgID != 0 {
				line += fmt.Sprintf(" to clinic %d", said.Audience.OrgID)
			}
		}
		lines = append(lines, line)
		w = next
	}
	return lines
}

func startWorlds() []*world {
	plain := &world{values: [2]string{"5", "140"}, patient: 1}
	policy := &world{values: [2]string{"5", "140"}, patient: 1, earlier: 1}
	between := &world{values: [2]string{"5", "140"}, patient: 1, earlier: 3}
	return []*world{plain, policy, between}
}

// exploreDepth returns the number of events: EXPLORE_DEPTH, or usual. Under the race detector, which makes the
// exploration ten times slower, and with -short it is one less.
func exploreDepth(t *testing.T, usual int) int {
	t.Helper()
	if s := os.Getenv("EXPLORE_DEPTH"); s != "" {
		n, err := strconv.Atoi(s)
		if err != nil {
			t.Fatalf("EXPLORE_DEPTH is %q, want a number", s)
		}
		return n
	}
	if raced() || testing.Short() {
		return usual - 1
	}
	return usual
}

// raced reports whether the race detector runs.
func raced() bool {
	info, ok := debug.ReadBuildInfo()
	return ok && slices.Contains(info.Settings, debug.BuildSetting{Key: "-race", Value: "true"})
}

// collectLess makes the garbage collector run less often until the test ends, which halves the time of an exploration.
func collectLess(t *testing.T) {
	t.Helper()
	percent, limit := debug.SetGCPercent(400), debug.SetMemoryLimit(4<<30)
	t.Cleanup(func() {
		debug.SetGCPercent(percent)
		debug.SetMemoryLimit(limit)
	})
}

// TestEveryShortHistoryKeepsThePromises runs all short histories of events and checks the invariants after each event:
// no critical result is silent, and no one is misinformed.
func TestEveryShortHistoryKeepsThePromises(t *testing.T) {
	collectLess(t)
	began := time.Now()
	x := explore(startWorlds(), exploreDepth(t, 4), Decide)
	t.Logf("%d histories, %d distinct states, %v", x.histories, x.states, time.Since(began).Round(time.Millisecond))
	if x.wrong != "" {
		t.Fatalf("%s\n%s", x.wrong, strings.Join(x.story, "\n"))
	}
}

// TestHistoriesThatFailedOnce repeats histories that violated an invariant and are longer than those of make test.
func TestHistoriesThatFailedOnce(t *testing.T) {
	plain, policy := startWorlds()[0], startWorlds()[1]
	type history struct {
		start  *world
		events []string
	}
	for name, h := range map[string]history{
		"removed, called, and removed again": {plain, []string{
			`potassium is "7.9"`, `potassium is "removed"`, "called", `potassium is "7.1"`, `potassium is "removed"`,
		}},
		"the same value returns and is removed again": {plain, []string{
			`potassium is "7.9"`, `potassium is "removed"`, "called", `potassium is "7.9"`, `potassium is "removed"`,
		}},
		"critical again after the limits changed, and the first notice was not sent": {policy, []string{
			`potassium is "7.1"`, "another program sets the state to normal, or to waiting", "the limits change", `sodium is "118"`,
			`potassium is "7.9"`,
		}},
	} {
		t.Run(name, func(t *testing.T) {
			w := h.start
			for _, event := range h.events {
				i := slices.IndexFunc(alphabet(), func(s step) bool { return s.name == event })
				if i < 0 {
					t.Fatalf("the alphabet has no event %q", event)
				}
				next, wrong, ok := w.run(alphabet()[i], Decide)
				if !ok || wrong != "" {
					t.Fatalf("%s: applies %v, %s", event, ok, wrong)
				}
				w = next
			}
		})
	}
}
