package job

import (
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
	Progress    []byte // fate of each part of a message, by package progress; it names nobody and is never sealed
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
	h = append(append(make([]Attempt, 0, len(h)+1), h...), a)
	if len(h) > historyLimit {
		h = h[len(h)-historyLimit:]
	}
	return h
}

// usual is what a stored job needs besides its long texts; more makes the buffer grow once.
const usual = 192

// Encode appends the stored form of b to dst.
func (b *Body) Encode(dst []byte) []byte {
	dst = slices.Grow(dst, usual+len(b.Data)+len(b.Headers)+len(b.Sealed))
	dst = putInt(dst, 1, int64(b.Task))
	dst = putInt(dst, 2, int64(b.TaskType))
	dst = putInt(dst, 3, b.LabID)
	dst = putString(dst, 4, b.Caller)
	if b.Internal {
		dst = putInt(dst, 5, 1)
	}
	dst = putString(dst, 6, b.Data)
	dst = putString(dst, 7, b.Headers)
	dst = putString(dst, 8, b.LogTag)
	dst = putString(dst, 9, b.Subscribe)
	dst = putString(dst, 10, b.OnSuccess)
	dst = putString(dst, 11, b.OnFailure)
	dst = putInt(dst, 12, int64(b.Retry))
	dst = putInt(dst, 13, b.CreatedMs)
	dst = putInt(dst, 14, b.ScheduledMs)
	dst = putInt(dst, 15, b.StartedMs)
	dst = putInt(dst, 16, int64(b.Attempts))
	dst = putString(dst, 17, b.LastError)
	dst = putHistory(dst, 18, b.History)
	dst = putInt(dst, 19, int64(b.Nonce))
	dst = putString(dst, 20, b.Traceparent)
	dst = putString(dst, 21, b.WindowKey)
	dst = putString(dst, 22, b.Target)
	dst = putString(dst, 23, string(b.Parent))
	dst = putInt(dst, 24, b.ExpiresMs)
	dst = putInt(dst, 25, int64(b.Flow))
	dst = putString(dst, 26, b.LastReason)
	dst = putString(dst, 27, b.Sealed)
	dst = putString(dst, 28, b.CallbackTo)
	dst = putString(dst, 29, b.RequestID)
	return putString(dst, 30, b.Progress)
}

// DecodeBody reads a stored body. The result shares raw's memory.
func DecodeBody(raw []byte) (*Body, error) {
	b := &Body{}
	err := walk(raw, b.set)
	if err != nil {
		return nil, err
	}
	return b, nil
}

func (b *Body) set(field protowire.Number, number int64, text []byte) error {
	switch field {
	case 1:
		b.Task = int(number)
	case 2:
		b.TaskType = int(number)
	case 3:
		b.LabID = number
	case 4:
		b.Caller = string(text)
	case 5:
		b.Internal = number == 1
	case 6:
		b.Data = text
	case 7:
		b.Headers = text
	case 8:
		b.LogTag = string(text)
	case 9:
		b.Subscribe = string(text)
	case 10:
		b.OnSuccess = string(text)
	case 11:
		b.OnFailure = string(text)
	case 12:
		b.Retry = int(number)
	case 13:
		b.CreatedMs = number
	case 14:
		b.ScheduledMs = number
	case 15:
		b.StartedMs = number
	case 16:
		b.Attempts = int(number)
	case 17:
		b.LastError = string(text)
	case 18:
		return addHistory(&b.History, text)
	case 19:
		b.Nonce = int(number)
	case 20:
		b.Traceparent = string(text)
	case 21:
		b.WindowKey = string(text)
	case 22:
		b.Target = string(text)
	case 23:
		b.Parent = ID(text)
	case 24:
		b.ExpiresMs = number
	case 25:
		b.Flow = Flow(number)
	case 26:
		b.LastReason = string(text)
	case 27:
		b.Sealed = text
	case 28:
		b.CallbackTo = string(text)
	case 29:
		b.RequestID = string(text)
	case 30:
		b.Progress = text
	}
	return nil
}

func putHistory(dst []byte, field protowire.Number, history []Attempt) []byte {
	for _, a := range history {
		var one []byte
		one = putInt(one, 1, a.StartedMs)
		one = putInt(one, 2, a.EndedMs)
		one = putInt(one, 3, int64(a.HTTPStatus))
		one = putString(one, 4, a.Error)
		one = putString(one, 5, a.Reason)
		dst = putString(dst, field, one)
	}
	return dst
}

func addHistory(history *[]Attempt, raw []byte) error {
	var a Attempt
	err := walk(raw, func(field protowire.Number, number int64, text []byte) error {
		switch field {
		case 1:
			a.StartedMs = number
		case 2:
			a.EndedMs = number
		case 3:
			a.HTTPStatus = int(number)
		case 4:
			a.Error = string(text)
		case 5:
			a.Reason = string(text)
		}
		return nil
	})
	*history = append(*history, a)
	return err
}
