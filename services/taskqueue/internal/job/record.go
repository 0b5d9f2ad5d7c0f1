package job

import (
	"slices"

	"google.golang.org/protobuf/encoding/protowire"
)

// Record is what the queue keeps of a finished job for the retention time. It suffices for /jobInfo/ and for checking
// who may see the job, and does not contain the task's data.
type Record struct {
	State       State
	Task        int
	TaskType    int
	LabID       int64
	Caller      string
	LogTag      string
	Retry       int
	Attempts    int
	CreatedMs   int64
	ScheduledMs int64
	StartedMs   int64
	EndedMs     int64
	HTTPStatus  int
	Excerpt     string // at most 1 KiB of the receiver's response, only if textual
	Error       string
	Reason      string // reason code of the last attempt's failure
	History     []Attempt
	WindowKey   string
	MessageID   string // the provider's message id
	Callbacks   []ID   // callback jobs that report the end
	Progress    []byte // copied from the body, for a job that is retried by an operator
	Untold      bool   // its callbacks were dropped, because too many wait for their receiver
}

// RecordOf returns the record of a job that ended in state at ended, in ms.
func RecordOf(b *Body, state State, ended int64) Record {
	return Record{
		State:       state,
		Task:        b.Task,
		TaskType:    b.TaskType,
		LabID:       b.LabID,
		Caller:      b.Caller,
		LogTag:      b.LogTag,
		Retry:       b.Retry,
		Attempts:    b.Attempts,
		CreatedMs:   b.CreatedMs,
		ScheduledMs: b.ScheduledMs,
		StartedMs:   b.StartedMs,
		EndedMs:     ended,
		Error:       b.LastError,
		Reason:      b.LastReason,
		History:     b.History,
		WindowKey:   b.WindowKey,
		Progress:    b.Progress,
	}
}

// Encode appends the stored form of r to dst.
func (r *Record) Encode(dst []byte) []byte { return encode(slices.Grow(dst, usual+len(r.Excerpt)), r) }

// UntoldMark is the stored form of Untold = true. It is valid at the end of any stored record: the engine appends it to
// the record of a job whose callbacks it dropped.
const UntoldMark = "\xb0\x01\x01"

// DecodeRecord decodes a stored record.
func DecodeRecord(raw []byte) (*Record, error) {
	r := &Record{}
	if err := decode(raw, r); err != nil {
		return nil, err
	}
	return r, nil
}

func (r *Record) wire(w *wire) {
	integer(w, 1, &r.State)
	integer(w, 2, &r.Task)
	integer(w, 3, &r.TaskType)
	integer(w, 4, &r.LabID)
	text(w, 5, &r.Caller)
	text(w, 6, &r.LogTag)
	integer(w, 7, &r.Retry)
	integer(w, 8, &r.Attempts)
	integer(w, 9, &r.CreatedMs)
	integer(w, 10, &r.ScheduledMs)
	integer(w, 11, &r.StartedMs)
	integer(w, 12, &r.EndedMs)
	integer(w, 13, &r.HTTPStatus)
	text(w, 14, &r.Excerpt)
	text(w, 15, &r.Error)
	history(w, 16, &r.History)
	text(w, 17, &r.WindowKey)
	text(w, 18, &r.MessageID)
	text(w, 19, &r.Reason)
	ids(w, 20, &r.Callbacks)
	text(w, 21, &r.Progress)
	truth(w, 22, &r.Untold)
}

func ids(w *wire, field protowire.Number, list *[]ID) {
	if !w.reading() {
		for i := range *list {
			text(w, field, &(*list)[i])
		}
		return
	}
	for _, raw := range w.texts(field) {
		*list = append(*list, ID(raw))
	}
}
