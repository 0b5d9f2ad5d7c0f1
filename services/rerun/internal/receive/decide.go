package receive

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"time"

	"github.com/labplatform/labplatform/pkg/lab/activitylog"
	"github.com/labplatform/labplatform/services/rerun/internal/rerun"
)

const (
	// maxReruns is the number of reruns of a report since the last confirm or abort from which an instrument's own
	// repetitions are refused. It limits the archive that a confirm writes.
	maxReruns = 50
	// maxHistory is the maximum number of previous values kept of one value, because a document store limits the size of
	// documents.
	maxHistory = 100
)

// Facts holds all inputs of a decision about a message. Documents that were not read are missing.
type Facts struct {
	rerun.Facts

	Records []rerun.Record
	Values  []rerun.Value
}

// Decision holds the changes that a message makes. Values to insert have no id yet.
type Decision struct {
	Result Result
	Writes rerun.Writes
	Change rerun.Change

	opened bool // the report had no open rerun before this message
}

// mark is the meta of log entry 979, which is the commit marker of a message.
type mark struct {
	RerunID     string `json:"rerun_id"`
	RerunNumber int    `json:"rerun_number"`
	Indices     []int  `json:"indices"`
	SampleID    string `json:"sample_id"`
	DeviceID    string `json:"device_id"`
	Fingerprint string `json:"fingerprint,omitempty"` // of an instrument's own repetition
	Message     string `json:"message,omitempty"`     // for a message about a request: its fingerprint
}

// Decide returns the effect of a message. recordID is the id of a new record, if one is needed.
func Decide(f Facts, c Command, recordID string, now time.Time) (Decision, error) {
	if c.Number == OnItsOwn {
		return f.repetition(c, recordID, now)
	}
	return f.requested(c, now)
}

// repetition stores the values of an instrument's own repetition: a record with the next number, which is complete at
// once. A message that was received before changes nothing.
func (f Facts) repetition(c Command, recordID string, now time.Time) (Decision, error) {
	next, err := f.Report.Next(rerun.Instrument)
	if err != nil {
		return Decision{}, err
	}
	d := Decision{Result: Result{ByInstrument: true, Flag: f.Report.Flag, Pending: []int{}}}
	wanted, err := d.admit(f, c, func(index int) bool { return len(f.Tests.Having(index)) > 0 })
	if err != nil {
		return d, err
	}
	print := f.fingerprint(c, wanted)
	if f.Ledger.Received[print] {
		d.Result.Duplicate = true
		return d, nil
	}
	if f.Ledger.Size() >= maxReruns {
		return d, ErrTooMany
	}
	record := f.record(c, wanted, recordID, now)
	d.Writes.Record = &record
	if old, ok := f.interrupted(c, wanted); ok {
		record, d.Writes.Record = old, nil
	}
	if err := d.put(f, c, record.Number, wanted, now); err != nil {
		return d, err
	}
	d.Result.Flag, d.Change.Flag, d.opened = next, &next, !f.Report.Flag.Open()
	d.log(c, now, "Sample rerun values received from an instrument on its own",
		mark{RerunID: record.ID, RerunNumber: record.Number, Fingerprint: print})
	d.Change.Announce = f.Announce(f.after(d.Writes), true, now)
	return d, nil
}

// admit checks the sample, returns the wanted readings, each index once, and adds the indices to the result as accepted
// or rejected. An index with the names of two tests is an error, because a rerun has one value of an index.
func (d *Decision) admit(f Facts, c Command, want func(index int) bool) (wanted []Reading, err error) {
	if !f.Report.HasSample(c.SampleID) {
		return nil, ErrSample
	}
	for _, reading := range c.Readings {
		i := slices.IndexFunc(wanted, func(w Reading) bool { return w.Index == reading.Index })
		switch {
		case slices.Contains(d.Result.Rejected, reading.Index) || i >= 0 && f.mayBeOfOneTest(wanted[i], reading):
		case i >= 0:
			return nil, ErrTwoTests
		case !want(reading.Index):
			d.Result.Rejected = append(d.Result.Rejected, reading.Index)
		default:
			wanted = append(wanted, reading)
			d.Result.Accepted = append(d.Result.Accepted, reading.Index)
		}
	}
	if len(wanted) == 0 {
		return nil, ErrNothing
	}
	return wanted, nil
}

// mayBeOfOneTest reports whether no names of two tests are in readings of one index.
func (f Facts) mayBeOfOneTest(a, b Reading) bool {
	test, known := f.Tests.Of(0, a.Index, a.Name)
	other, otherKnown := f.Tests.Of(0, b.Index, b.Name)
	return !known || !otherKnown || test == other
}

// record returns the record of a repetition. Its number exceeds all numbers in the ledger and in the documents that
// were read, because a used number belongs to another program or to a closed rerun whose documents are about to be
// deleted.
func (f Facts) record(c Command, wanted []Reading, id string, now time.Time) rerun.Record {
	r := rerun.Record{
		ID: id, LabID: f.Report.LabID, ReportID: f.Report.ID, Type: rerun.ByAnalyser, SampleID: c.SampleID,
		Number:    max(f.Ledger.Highest(), rerun.HighestNumber(f.Records)) + 1,
		CreatedBy: c.Actor.ID, CreatedByKind: string(c.Actor.Kind), UpdatedBy: c.Actor.ID, CreatedAt: now, UpdatedAt: now,
	}
	for _, v := range f.Values {
		r.Number = max(r.Number, v.Number+1)
	}
	for _, reading := range wanted {
		r.Requested = append(r.Requested, reading.Index)
		r.ParameterNames = append(r.ParameterNames, f.value(c, 0, reading, now).ParameterName)
	}
	return r
}

// interrupted returns the record that the same message wrote before its process crashed: the record has no commit
// marker, and all its values are in the message.
func (f Facts) interrupted(c Command, wanted []Reading) (rerun.Record, bool) {
	for _, r := range slices.Backward(f.Records) {
		same := slices.EqualFunc(r.Requested, wanted, func(index int, w Reading) bool { return index == w.Index })
		if r.Type == rerun.ByAnalyser && !r.Foreign && r.SampleID == c.SampleID && same &&
			!f.Archived[r.ID] && !f.Ledger.Committed(r.ID) && f.containsAll(c, r.Number, wanted) {
			return r, true
		}
	}
	return rerun.Record{}, false
}

func (f Facts) containsAll(c Command, number int, wanted []Reading) bool {
	for _, v := range f.Values {
		sent := func(w Reading) bool { return w.Index == v.Index && w.Value == v.Value && c.DeviceID == v.DeviceID }
		if v.Number == number && !slices.ContainsFunc(wanted, sent) {
			return false
		}
	}
	return true
}

// requested stores the values of a request and sets flag 4 with the last one. Values of a superseded request are kept
// for comparison and complete nothing. A message that was received before adds no value, but sets a flag that a crash
// left behind.
func (f Facts) requested(c Command, now time.Time) (Decision, error) {
	request, latest, err := f.request(c.Number)
	if err != nil {
		return Decision{}, err
	}
	d := Decision{Result: Result{Flag: f.Report.Flag}}
	wanted, err := d.admit(f, c, func(index int) bool { return slices.Contains(request.Requested, index) })
	if err != nil {
		return d, err
	}
	print := f.fingerprint(c, wanted)
	d.Result.Duplicate = f.Ledger.Answered(request.RerunID, print)
	if !d.Result.Duplicate {
		if err := d.put(f, c, request.Number, wanted, now); err != nil {
			return d, err
		}
		d.log(c, now, "Sample rerun values received",
			mark{RerunID: request.RerunID, RerunNumber: request.Number, Message: print})
	}
	after := f.after(d.Writes)
	d.Result.Pending = rerun.Record{Number: request.Number, Requested: request.Requested}.Pending(after)
	if latest && len(d.Result.Pending) == 0 && f.Report.Flag == rerun.Requested {
		fulfilled := rerun.Fulfilled
		d.Result.Flag, d.Change.Flag = fulfilled, &fulfilled
	}
	d.Change.Announce = f.Announce(after, true, now)
	return d, nil
}

// request returns the request with a number, and whether it is the latest one. Requests of other programs have no
// commit marker and are found among the records.
func (f Facts) request(number int) (request rerun.Mark, latest bool, err error) {
	if _, err := f.Report.Next(rerun.Complete); err != nil {
		if f.Report.Dismissed {
			return request, false, err
		}
		return request, false, ErrNoRequest
	}
	if request, ok := f.Ledger.Request(number); ok {
		last, _ := f.Ledger.Latest()
		return request, last.Number == number, nil
	}
	highest := f.Ledger.Highest()
	for _, r := range f.Records {
		if !r.Foreign || r.Type == rerun.ByAnalyser {
			continue
		}
		highest = max(highest, r.Number)
		if r.Number == number {
			request = rerun.Mark{RerunID: r.ID, Number: r.Number, Requested: r.Requested}
		}
	}
	if request.Number == 0 {
		return request, false, ErrNoRequest
	}
	return request, highest == number, nil
}

// put adds a write for each reading: an equal stored value of the report's sample stays, any other is replaced and kept
// in the history. A value is replaced only by a value of the same test. Two values without a known test may be of
// different tests, so that neither replaces the other.
func (d *Decision) put(f Facts, c Command, number int, wanted []Reading, now time.Time) error {
	for _, reading := range wanted {
		v := f.value(c, number, reading, now)
		i := slices.IndexFunc(f.Values, func(s rerun.Value) bool { return s.Number == number && s.Index == v.Index })
		if i < 0 {
			d.Writes.Insert = append(d.Writes.Insert, v)
			continue
		}
		old := f.Values[i]
		test, known := f.Tests.OfValue(old)
		switch {
		case known != v.TestKnown || test != v.TestID:
			return ErrOtherTest
		case old.Same(v) && f.Report.IsOfSample(old):
		case !known:
			return ErrOtherTest
		case len(old.History) >= maxHistory:
			return errHistory
		default:
			d.Writes.Replace = append(d.Writes.Replace, v.Replaces(old))
		}
	}
	return nil
}

// value returns the document of a reading. Order and name come from the formats of the report. An instrument sends no
// test. If several tests have the index, the name determines the test; without a name, the value has no test.
func (f Facts) value(c Command, number int, r Reading, now time.Time) rerun.Value {
	v := rerun.Value{
		LabID: f.Report.LabID, ReportID: f.Report.ID, SampleID: c.SampleID, Value: r.Value, Index: r.Index,
		RerunType: c.RerunType, Number: number, ParameterName: r.Name, DeviceID: c.DeviceID, DeviceName: c.DeviceName,
		CreatedAt: now,
	}
	v.TestID, v.TestKnown = f.Tests.Of(0, r.Index, r.Name)
	if p, ok := f.Tests.Parameter(v.TestID, r.Index); ok && v.TestKnown {
		v.Order, v.ParameterName = p.Order, cmp.Or(r.Name, p.Name)
	}
	return v
}

// after returns the report's values after the writes. If no rerun is open, only values of other programs count, because
// the others belong to a closed rerun and are about to be deleted.
func (f Facts) after(w rerun.Writes) []rerun.Value {
	values := slices.DeleteFunc(slices.Clone(f.Values), func(v rerun.Value) bool {
		replaced := func(r rerun.Value) bool { return r.ID == v.ID }
		return f.Archived[v.ID] || !f.Report.Flag.Open() && !v.Foreign || slices.ContainsFunc(w.Replace, replaced)
	})
	return slices.Concat(values, w.Replace, w.Insert)
}

func (d *Decision) log(c Command, now time.Time, text string, m mark) {
	m.Indices, m.SampleID, m.DeviceID = d.Result.Accepted, c.SampleID, c.DeviceID
	d.Change.Entry = &activitylog.Entry{
		Category: activitylog.RerunValuesReceived, Text: text, Actor: c.Actor, At: now, Meta: m,
	}
}

// fingerprint returns a text that is equal for messages with the same device, sample, indices and values. If several
// tests have an index, it includes the test that the message names.
func (f Facts) fingerprint(c Command, readings []Reading) string {
	sorted := slices.SortedFunc(slices.Values(readings), func(a, b Reading) int { return cmp.Compare(a.Index, b.Index) })
	sum := sha256.New()
	fmt.Fprintf(sum, "%q %q", c.DeviceID, c.SampleID)
	for _, reading := range sorted {
		fmt.Fprintf(sum, " %d=%q", reading.Index, reading.Value)
		if test, ok := f.Tests.Of(0, reading.Index, reading.Name); ok && len(f.Tests.Having(reading.Index)) > 1 {
			fmt.Fprintf(sum, " of %d", test)
		}
	}
	return hex.EncodeToString(sum.Sum(nil)[:16])
}
