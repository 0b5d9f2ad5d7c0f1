package callout

import (
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/labplatform/labplatform/pkg/lab/clinical"
)

// The world of the exploration has one report with two parameters, two patients and two audiences. Potassium is
// critical below 2.5 and above 6.5; after a change of limits, above 7.5. Sodium is critical below 120. The world
// records what each audience was told, independently of the rules under test.
const (
	potassium, sodium = 0, 1
	northClinic       = 45
	southClinic       = 46
)

var audiences = [2]Audience{{OrgID: northClinic, DoctorID: 391}, {OrgID: southClinic, DoctorID: 392}}

// told is a value told to an audience.
type told struct {
	audience int
	patient  int64
	key      int
	value    string
	notice   string // key of the notice that contained it; empty for a call
	at       time.Duration
	informed bool          // the audience was informed that it is wrong
	told     time.Duration // time at which the audience was told
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
	// State that other programs write.
	values    [2]string
	limits    int
	patient   int64
	merged    bool
	audience  int
	dismissed bool
	// earlier selects the history of the patient: 0: none; 1: a critical result whose call reached the first audience and
	// was read back; 2: the same, and the call was corrected; 3: the same as 1, with a normal result since.
	earlier    int
	typeOff    bool
	delayed    bool
	changedAt  [2]time.Duration
	foreign    []Foreign
	foreigners int
	elsewhere  bool // another program set the report to waiting

	// State that the service writes.
	status Status
	wait   *Episode
	ledger Ledger
	queue  []Message

	// What the audiences were told.
	calledAt  [2]time.Duration
	called    [2]string // the value that a call stated, if it has not changed since; otherwise ""
	said      [2]bool   // the ledger has a statement about the parameter
	knowledge []told
	notices   []sentNotice
	calls     int
	escalated [2]string // the value in the last escalation of the wait
	sent      []string
	now       time.Duration
	unjudged  bool // a value became blank less than three minutes ago
}

var origin = time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC)

// clone copies a world. Append-only slices are shared and clipped, so that an append copies them.
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

// removed marks a value whose row another program deleted.
const removed = "removed"

// criticality judges a value independently of the code under test: 1 high, -1 low, 0 not critical, 2 unreadable, 3
// blank.
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

// findings caches results of Judge for all histories. Cached values must not be changed.
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
	if w.values[potassium] == removed { // the time of a removal is unknown
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

func startWorlds() []*world {
	plain := &world{values: [2]string{"5", "140"}, patient: 1}
	policy := &world{values: [2]string{"5", "140"}, patient: 1, earlier: 1}
	between := &world{values: [2]string{"5", "140"}, patient: 1, earlier: 3}
	return []*world{plain, policy, between}
}
