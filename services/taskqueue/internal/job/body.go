package job

import (
	"errors"
	"slices"

	"google.golang.org/protobuf/encoding/protowire"
)

// Body contains everything needed to run a job. It is stored until the job has finished. Data and Headers are the
// caller's JSON, byte for byte.
type Body struct {
	Task        int
	TaskType    int
	LabID       int64  // laboratory of the enqueuer; 0: an internal service without a laboratory
	Caller      string // principal that enqueued the task: "user:77" or "service:rerun"
	Internal    bool   // enqueued by a service: internal origins are allowed
	Data        []byte
	Headers     []byte
	LogTag      string
	Subscribe   string
	OnSuccess   string
	OnFailure   string
	Retry       int // retries after the first attempt
	CreatedMs   int64
	ScheduledMs int64
	StartedMs   int64 // start of the first attempt
	Attempts    int   // finished attempts
	LastError   string
	LastReason  string // reason code of LastError
	History     []Attempt
	Nonce       int    // number of retries by /retryTask/
	Traceparent string // W3C trace context of the enqueuing request
	WindowKey   string
	Target      string // callbacks: the URL to call
	Parent      ID     // callbacks: the job whose result is reported
	ExpiresMs   int64  // the job is not run after this time; 0: no limit
	Flow        Flow   // see Flow
	Sealed      []byte // Data and Headers, encrypted by package seal; they are then empty
	CallbackTo  string // callback_url in the sealed Data
	RequestID   string // id of the request that enqueued the task
	PatientMs   int64  // an earlier failure extends retries to this long after the due time
	Progress    []byte // state of each part of a message, see package progress; no personal data, never sealed
}

// Attempt is a past execution, as shown in /jobInfo/.
type Attempt struct {
	StartedMs  int64
	EndedMs    int64
	HTTPStatus int
	Error      string
	Reason     string // reason code for programs
}

// historyLimit is the maximum number of stored attempts. Only a message retried beyond its last retry
// (Failure.Patience) has more; a manual retry restarts the list.
const historyLimit = 12

// AppendHistory adds an attempt and keeps the newest ones.
func AppendHistory(h []Attempt, a Attempt) []Attempt {
	h = append(slices.Clone(h), a)
	return h[max(0, len(h)-historyLimit):]
}

// usual is the initial size of the buffer for a stored job, in addition to its long texts. For a longer job, the buffer
// grows once.
const usual = 192

// Encode appends the stored form of b to dst.
func (b *Body) Encode(dst []byte) []byte {
	return encode(slices.Grow(dst, usual+len(b.Data)+len(b.Headers)+len(b.Sealed)), b)
}

// DecodeBody decodes a stored body. The result shares memory with raw.
func DecodeBody(raw []byte) (*Body, error) {
	b := &Body{}
	if err := decode(raw, b); err != nil {
		return nil, err
	}
	return b, nil
}

func (b *Body) wire(w *wire) {
	integer(w, 1, &b.Task)
	integer(w, 2, &b.TaskType)
	integer(w, 3, &b.LabID)
	text(w, 4, &b.Caller)
	truth(w, 5, &b.Internal)
	text(w, 6, &b.Data)
	text(w, 7, &b.Headers)
	text(w, 8, &b.LogTag)
	text(w, 9, &b.Subscribe)
	text(w, 10, &b.OnSuccess)
	text(w, 11, &b.OnFailure)
	integer(w, 12, &b.Retry)
	integer(w, 13, &b.CreatedMs)
	integer(w, 14, &b.ScheduledMs)
	integer(w, 15, &b.StartedMs)
	integer(w, 16, &b.Attempts)
	text(w, 17, &b.LastError)
	history(w, 18, &b.History)
	integer(w, 19, &b.Nonce)
	text(w, 20, &b.Traceparent)
	text(w, 21, &b.WindowKey)
	text(w, 22, &b.Target)
	text(w, 23, &b.Parent)
	integer(w, 24, &b.ExpiresMs)
	integer(w, 25, &b.Flow)
	text(w, 26, &b.LastReason)
	text(w, 27, &b.Sealed)
	text(w, 28, &b.CallbackTo)
	text(w, 29, &b.RequestID)
	text(w, 30, &b.Progress)
	integer(w, 31, &b.PatientMs)
}

func (a *Attempt) wire(w *wire) {
	integer(w, 1, &a.StartedMs)
	integer(w, 2, &a.EndedMs)
	integer(w, 3, &a.HTTPStatus)
	text(w, 4, &a.Error)
	text(w, 5, &a.Reason)
}

func history(w *wire, field protowire.Number, list *[]Attempt) {
	if !w.reading() {
		for i := range *list {
			one := string(encode(nil, &(*list)[i]))
			text(w, field, &one)
		}
		return
	}
	for _, raw := range w.texts(field) {
		var a Attempt
		w.err = errors.Join(w.err, decode(raw, &a))
		*list = append(*list, a)
	}
}
