package job

import (
	"slices"

	"google.golang.org/protobuf/encoding/protowire"
)

// Record is what is left of a finished job for the retention time: enough to answer /jobInfo/ and to check
// whose job it was, without the task's data.
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
	Excerpt     string // at most 1 KiB of the receiver's answer, text only
	Error       string
	Reason      string // why it failed: a stable word for machines, from the failure of the last attempt
	History     []Attempt
	WindowKey   string
	MessageID   string // the provider's id of the message
	Callbacks   []ID   // the jobs that tell others of the end
	Progress    []byte // of the body, for a job that is revived
	Untold      bool   // its callbacks were dropped: too many waited for their receiver
}

// RecordOf starts the record of a job that ended in state at ended.
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
func (r *Record) Encode(dst []byte) []byte {
	dst = slices.Grow(dst, usual+len(r.Excerpt))
	dst = putInt(dst, 1, int64(r.State))
	dst = putInt(dst, 2, int64(r.Task))
	dst = putInt(dst, 3, int64(r.TaskType))
	dst = putInt(dst, 4, r.LabID)
	dst = putString(dst, 5, r.Caller)
	dst = putString(dst, 6, r.LogTag)
	dst = putInt(dst, 7, int64(r.Retry))
	dst = putInt(dst, 8, int64(r.Attempts))
	dst = putInt(dst, 9, r.CreatedMs)
	dst = putInt(dst, 10, r.ScheduledMs)
	dst = putInt(dst, 11, r.StartedMs)
	dst = putInt(dst, 12, r.EndedMs)
	dst = putInt(dst, 13, int64(r.HTTPStatus))
	dst = putString(dst, 14, r.Excerpt)
	dst = putString(dst, 15, r.Error)
	dst = putHistory(dst, 16, r.History)
	dst = putString(dst, 17, r.WindowKey)
	dst = putString(dst, 18, r.MessageID)
	dst = putString(dst, 19, r.Reason)
	for _, id := range r.Callbacks {
		dst = putString(dst, 20, string(id))
	}
	dst = putString(dst, 21, r.Progress)
	if r.Untold {
		dst = append(dst, UntoldMark...)
	}
	return dst
}

// UntoldMark is the stored form of Untold, which makes it true wherever it stands in a stored record: the engine
// appends it to the record of a job whose callbacks it dropped.
const UntoldMark = "\xb0\x01\x01"

// DecodeRecord reads a stored record.
func DecodeRecord(raw []byte) (*Record, error) {
	r := &Record{}
	if err := walk(raw, r.set); err != nil {
		return nil, err
	}
	return r, nil
}

func (r *Record) set(field protowire.Number, number int64, text []byte) error {
	switch field {
	case 1:
		r.State = State(number)
	case 2:
		r.Task = int(number)
	case 3:
		r.TaskType = int(number)
	case 4:
		r.LabID = number
	case 5:
		r.Caller = string(text)
	case 6:
		r.LogTag = string(text)
	case 7:
		r.Retry = int(number)
	case 8:
		r.Attempts = int(number)
	case 9:
		r.CreatedMs = number
	case 10:
		r.ScheduledMs = number
	case 11:
		r.StartedMs = number
	case 12:
		r.EndedMs = number
	case 13:
		r.HTTPStatus = int(number)
	case 14:
		r.Excerpt = string(text)
	case 15:
		r.Error = string(text)
	case 16:
		return addHistory(&r.History, text)
	case 17:
		r.WindowKey = string(text)
	case 18:
		r.MessageID = string(text)
	case 19:
		r.Reason = string(text)
	case 20:
		r.Callbacks = append(r.Callbacks, ID(text))
	case 21:
		r.Progress = text
	case 22:
		r.Untold = number == 1
	}
	return nil
}
