package httpserver

import (
	"context"
	"errors"
	"io"
	"net/http"
	"time"
)

const (
	// bodyTimeout is how long a whole body may take to arrive, whatever the path and whether anybody reads it.
	bodyTimeout = 12 * time.Second
	// answerTimeout is how long the answer may take until its last byte is sent.
	answerTimeout = time.Minute

	// A paced body must bring paceBytes in every paceWindow.
	paceBytes  = 64 << 10
	paceWindow = 30 * time.Second
)

// guarded gives each request a time for its body and one for its answer, which a handler changes with Paced and
// AnswerWithin, and each answer the headers against caches and guessed types.
func guarded(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		Harden(w.Header())
		if len(r.TransferEncoding) > 0 || !r.ProtoAtLeast(1, 1) {
			// net/http drops what would tell us of a Content-Length beside the chunks, or of chunks before HTTP/1.1,
			// and a proxy in front may have seen the request end elsewhere: what follows here is not to be trusted.
			w.Header().Set("Connection", "close")
		}
		AnswerWithin(w, answerTimeout)
		if r.Body != nil && r.Body != http.NoBody {
			control := http.NewResponseController(w)
			setRead(control, time.Now().Add(bodyTimeout))
			r.Body = &timedBody{ReadCloser: r.Body, control: control}
		}
		next.ServeHTTP(w, r)
	})
}

// AnswerWithin sets when the last byte of the answer must have been sent; zero: never.
func AnswerWithin(w http.ResponseWriter, d time.Duration) {
	deadline := time.Time{}
	if d > 0 {
		deadline = time.Now().Add(d)
	}
	//nolint:errcheck // a connection without deadlines is a test's; one that is gone fails at the next write
	http.NewResponseController(w).SetWriteDeadline(deadline)
}

// answerPace is how long one write of a paced answer may wait for a reader: at least 32 KiB must go out meanwhile, what
// io.Copy writes at once.
const answerPace = 30 * time.Second

// PacedAnswer replaces the one time for the whole answer by a least pace: large files may take long, but who does not
// read is cut off.
func PacedAnswer(w http.ResponseWriter) http.ResponseWriter { return pacedAnswer{w} }

// pacedAnswer has no ReadFrom, which would send a file without coming back here.
type pacedAnswer struct{ http.ResponseWriter }

var _ http.ResponseWriter = (*pacedAnswer)(nil)

func (w pacedAnswer) Write(p []byte) (int, error) {
	AnswerWithin(w.ResponseWriter, answerPace)
	return w.ResponseWriter.Write(p)
}

// Unwrap lets http.ResponseController reach the connection.
func (w pacedAnswer) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// Paced replaces the one time for the whole body of r by a least pace, from the first time that someone reads it:
// large bodies may take long, slow ones not, and one that no one wants is cut off as everywhere. A body that is still
// on its way when the process stops ends with an error, and the context of r with ErrStopping.
func Paced(w http.ResponseWriter, r *http.Request) {
	if r.Body == nil || r.Body == http.NoBody {
		return
	}
	control := http.NewResponseController(w)
	r.Body = &timedBody{ReadCloser: r.Body, control: control, paced: true, arrived: paceBytes}
	ctx := r.Context()
	context.AfterFunc(ctx, func() {
		if errors.Is(context.Cause(ctx), ErrStopping) {
			setRead(control, time.Unix(1, 0)) // long ago: who reads the body hears of it now
		}
	})
}

// unreadTimeout is how long the rest of a body may hold up an answer that does not need it.
const unreadTimeout = 3 * time.Second

// SkipBody is called before an answer to a request whose body was not read to its end: net/http waits for a part of
// the rest before it sends anything.
func SkipBody(w http.ResponseWriter) {
	setRead(http.NewResponseController(w), time.Now().Add(unreadTimeout))
}

// timedBody ends the read deadline with the body: net/http continues reading, to notice that the caller went away,
// and would take a passed deadline for that.
type timedBody struct {
	io.ReadCloser
	control *http.ResponseController
	paced   bool
	arrived int
}

var _ io.Reader = (*timedBody)(nil)

func (b *timedBody) Read(p []byte) (int, error) {
	if b.paced && b.arrived >= paceBytes {
		b.arrived = 0
		setRead(b.control, time.Now().Add(paceWindow))
	}
	n, err := b.ReadCloser.Read(p)
	b.arrived += n
	if err == io.EOF {
		setRead(b.control, time.Time{})
	}
	return n, err
}

func setRead(control *http.ResponseController, deadline time.Time) {
	//nolint:errcheck // as above
	control.SetReadDeadline(deadline)
}
