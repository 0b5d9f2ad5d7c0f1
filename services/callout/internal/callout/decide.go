package callout

import (
	"slices"
	"strings"
)

// Told is what this service knows to have been communicated of a report.
type Told struct {
	Snapshot Snapshot
	// Corrected are the formats of values that were communicated, and of which everybody was told that they were wrong.
	Corrected []int64
}

// holds returns what was communicated and not taken back.
func (t *Told) holds() []Parameter {
	if t == nil || t.Snapshot.Corrected {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(t.Snapshot.Parameters), func(p Parameter) bool {
		return slices.Contains(t.Corrected, p.FormatID)
	})
}

// Case is a report with what is known about it apart from its values.
type Case struct {
	Status Status
	Wait   *Episode // nil: it has no open episode
	Told   *Told    // nil: no callout of it is known
	// Named means that someone asked for this report: then one that was done before this service came is judged, too.
	Named bool
}

// Event is what the finding does to a report, ok false when it does nothing.
func (f Finding) Event(c Case) (e Event, ok bool) {
	if len(f.Critical) > 0 {
		return f.critical(c)
	}
	if c.Wait != nil || c.Status.Open() {
		return f.waiting(c)
	}
	switch {
	case f.Undecided && !f.Abnormal:
		return 0, false
	case f.Abnormal:
		return FoundAbnormal, true
	}
	return FoundNormal, true
}

func (f Finding) critical(c Case) (Event, bool) {
	switch {
	case c.Status == Done && c.Told == nil && !c.Named:
		return 0, false
	case c.Wait == nil && covers(c.Told.holds(), f.Critical):
		return FoundTold, true
	}
	return FoundCritical, true
}

// waiting is about a report that waits while nothing of it is critical: it waits on until everything that was critical
// is certainly not critical any more. Other values do not matter.
func (f Finding) waiting(c Case) (Event, bool) {
	if f.Clears(c.Wait) {
		if f.Abnormal {
			return FoundAbnormal, true
		}
		return FoundNormal, true
	}
	if c.Status.Open() || c.Status == Done {
		return 0, false
	}
	return FoundCritical, true // another program wrote an older state over ours
}

// Clears reports whether everything that opened a wait is certainly not critical any more; of a wait of which nothing
// is known, whether nothing is left to doubt.
func (f Finding) Clears(wait *Episode) bool {
	if wait == nil || len(wait.Parameters) == 0 {
		return !f.Undecided
	}
	return !slices.ContainsFunc(wait.Parameters, func(p Parameter) bool { return !f.clear[p.FormatID] })
}

// Waits returns what a report waits for: what is critical now, and what was critical and is not certainly over.
func (f Finding) Waits(opened []Parameter) []Parameter {
	waits := slices.Clone(f.Critical)
	for _, p := range opened {
		known := slices.ContainsFunc(f.Critical, func(now Parameter) bool { return now.FormatID == p.FormatID })
		if !known && !f.clear[p.FormatID] {
			waits = append(waits, p)
		}
	}
	return waits
}

// Adds reports whether a parameter is critical that was not among those that opened the wait.
func (f Finding) Adds(opened []Parameter) bool {
	return slices.ContainsFunc(f.Critical, func(now Parameter) bool {
		return !slices.ContainsFunc(opened, func(p Parameter) bool { return p.FormatID == now.FormatID })
	})
}

// Shown is Waits for who lists or records a callout of a waiting report: what opened the wait when nothing is left, as
// no one has judged the report since.
func (f Finding) Shown(opened []Parameter) []Parameter {
	if waits := f.Waits(opened); len(waits) > 0 {
		return waits
	}
	return opened
}

// Withdrawn returns what was communicated and is certainly not critical any more, without what everybody knows already.
func (f Finding) Withdrawn(t *Told) []Parameter {
	return slices.DeleteFunc(t.holds(), func(p Parameter) bool { return !f.clear[p.FormatID] })
}

// Corrections returns the formats of Told.Corrected after the finding: a value that is critical again is no correction.
func (f Finding) Corrections(t *Told) []int64 {
	if t == nil {
		return nil
	}
	formats := slices.Clone(t.Corrected)
	for _, p := range f.Withdrawn(t) {
		formats = append(formats, p.FormatID)
	}
	return slices.DeleteFunc(formats, func(id int64) bool {
		return slices.ContainsFunc(f.Critical, func(p Parameter) bool { return p.FormatID == id })
	})
}

// covers reports whether every present value was communicated.
func covers(told, present []Parameter) bool {
	for _, p := range present {
		same := func(t Parameter) bool { return t.FormatID == p.FormatID && t.RawValue == p.RawValue }
		if !slices.ContainsFunc(told, same) {
			return false
		}
	}
	return true
}

// Call is a value that was communicated.
type Call struct {
	Parameter
	ReadBack  bool
	Corrected bool
}

// Spares reports whether the calls of a patient, the earliest first, make a call of the critical values unnecessary:
// the last call of each was read back, was not taken back, and the value is not further outside than it was.
func Spares(calls []Call, critical []Parameter) bool {
	for _, p := range critical {
		last := -1
		for i := range calls {
			if calls[i].FormatID == p.FormatID {
				last = i
			}
		}
		if last < 0 || !calls[last].spares(p) {
			return false
		}
	}
	return true
}

func (c Call) spares(p Parameter) bool {
	if !c.ReadBack || c.Corrected || c.Flag != p.Flag {
		return false
	}
	if c.Value == nil || p.Value == nil || p.Flag == FlagText {
		return strings.EqualFold(c.RawValue, p.RawValue)
	}
	if p.Flag == FlagLow {
		return *p.Value >= *c.Value
	}
	return *p.Value <= *c.Value
}
