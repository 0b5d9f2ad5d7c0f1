package rerun

import "github.com/labplatform/labplatform/pkg/apperr"

// Flag is the report's sampleRedrawFlag.
type Flag int

// Flags of this area. 1 and 2 belong to the older redraw of samples.
const (
	Normal    Flag = 0
	Requested Flag = 3
	Fulfilled Flag = 4
)

// Event changes a flag.
type Event int

// Events that change the flag of a report.
const (
	Request    Event = iota // a person or the platform requests a rerun
	Instrument              // an instrument repeated a measurement on its own
	Complete                // the last requested value arrived
	Confirm                 // values of the report are replaced
	Abort                   // the rerun ends without changing the report's values
)

// transitions lists all allowed changes of the flag.
var transitions = map[Flag]map[Event]Flag{
	Normal:    {Request: Requested, Instrument: Fulfilled},
	Requested: {Instrument: Fulfilled, Complete: Fulfilled, Confirm: Normal, Abort: Normal},
	Fulfilled: {Request: Requested, Instrument: Fulfilled, Complete: Fulfilled, Confirm: Normal, Abort: Normal},
}

// Errors for callers if the state does not allow an event.
var (
	ErrAlreadyRequested = apperr.New(apperr.Conflict, "RERUN_ALREADY_REQUESTED",
		"A sample rerun is already requested for this report; wait for its values, confirm or abort it first")
	ErrNotOpen = apperr.New(apperr.Conflict, "RERUN_NOT_OPEN", "No open sample rerun")
	ErrRedraw  = apperr.New(apperr.Conflict, "SAMPLE_REDRAW_OPEN",
		"The sample of this report is being redrawn; finish the redraw first")
	ErrDismissed = apperr.New(apperr.Conflict, "REPORT_DISMISSED",
		"The report is dismissed; restore it first, or abort its rerun")
)

// Next returns the report's flag after the event, or a conflict. For a dismissed report, only an abort is allowed.
func (r Report) Next(e Event) (Flag, error) {
	if r.Dismissed && e != Abort {
		return r.Flag, ErrDismissed
	}
	return r.Flag.Next(e)
}

// Next returns the flag after the event, or a conflict.
func (f Flag) Next(e Event) (Flag, error) {
	if to, ok := transitions[f][e]; ok {
		return to, nil
	}
	switch {
	case f != Normal && f != Requested && f != Fulfilled:
		return f, ErrRedraw
	case e == Request:
		return f, ErrAlreadyRequested
	default:
		return f, ErrNotOpen
	}
}

// Open reports whether a rerun is open.
func (f Flag) Open() bool { return f == Requested || f == Fulfilled }

// Errors about the documents of a report.
var (
	ErrAutoExists = apperr.New(apperr.Conflict, "AUTO_RERUN_EXISTS",
		"An automatic sample rerun exists already for this report")
	ErrDuplicate = apperr.New(apperr.Conflict, "RERUN_SAVED_MEANWHILE",
		"Another sample rerun of this report was saved at the same time; load it and try again")
	ErrNoReport = apperr.New(apperr.NotFound, "REPORT_NOT_FOUND", "Lab report not found")
)

// IsDuplicate reports whether a store rejected a document because of a unique index.
func IsDuplicate(err error) bool {
	e, ok := apperr.From(err)
	return ok && e.Reason == ErrDuplicate.Reason
}
