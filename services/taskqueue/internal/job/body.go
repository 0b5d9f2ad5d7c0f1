package job

import (
	"errors"
	"slices"

	"google.golang.org/protobuf/encoding/protowire"
)

// Body is everything needed to run a job; it is stored until the job has finished.
// Data and Headers hold the caller's JSON byte for byte.
type Body struct {
	Task        int
	TaskType    int
	LabID       int64  // laboratory of the enqueuer; 0: an internal service without one
	Caller      string // who enqueued, "user:77" or "service:rerun"
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
	StartedMs   int64 // first attempt
	Attempts    int   // attempts that ended
	LastError   string
	LastReason  string // the machine word beside LastError
	History     []Attempt
	Nonce       int    // how often /retryTask/ revived the job
	Traceparent string // W3C trace context of the enqueuing request
	WindowKey   string
	Target      string // callbacks: the URL
	Parent      ID     // callbacks: the job whose result is told
	ExpiresMs   int64  // the job is not worth running after this; 0: always
	Flow        Flow   // whose turn it waits for
	Sealed      []byte // Data and Headers encrypted, which are then empty; see package seal
	CallbackTo  string // the callback_url of sealed Data
	RequestID   string // of the request that enqueued it
	PatientMs   int64  // it is retried so long after it was due, because of an earlier failure
	Progress    []byte // fate of each part of a message, by package progress; it names no one and is never sealed
}

// Attempt is one past execution, shown in /jobInfo/.
type Attempt struct {
	StartedMs  int64
	EndedMs    int64
	HTTPStatus int
	Error      string
	Reason     string // stable word for machines
}

// historyLimit bounds the stored attempts; eleven executions are the most a task may have, manual retries restart the
// list.
const historyLimit = 12

// AppendHistory adds a to the attempts, keeping the newest.
func AppendHistory(h []Attempt, a Attempt) []Attempt {
	h = append(slices.Clone(h), a)
	return h[max(0, len(h)-historyLimit):]
}

// usual is what a stored job needs apart from its long texts; more makes the buffer grow once.
const usual = 192

// Encode appends the stored form of b to dst.
func (b *Body) Encode(dst []byte) []byte {
	return encode(slices.Grow(dst, usual+len(b.Data)+len(b.Headers)+len(b.Sealed)), b)
}

// DecodeBody reads a stored body. The result shares raw's memory.
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
