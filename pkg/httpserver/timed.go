package httpserver

import (
	"context"
	"errors"
	"io"
	"net/http"
	"time"
)

const (
	// bodyTimeout is the time for a whole request body to arrive, on any path and whether or not a handler reads it.
	bodyTimeout = 12 * time.Second
	// responseTimeout is the time until the last byte of a response must have been sent.
	responseTimeout = time.Minute

	// A paced body must deliver at least paceBytes in every paceWindow.
	paceBytes  = 64 << 10
	paceWindow = 30 * time.Second
)

// guarded sets a deadline for the body and one for the response of each request, which handlers change with Paced and
// SetWriteTimeout, and adds the headers of Harden.
func guarded(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		Harden(w.Header())
		if len(r.TransferEncoding) > 0 || !r.ProtoAtLeast(1, 1) {
			// net/http hides a Content-Length next to chunks, and chunks before HTTP/1.1. A proxy may therefore have seen
			// another end of the request, so later bytes on this connection are not trusted.
			w.Header().Set("Connection", "close")
		}
		SetWriteTimeout(w, responseTimeout)
		if r.Body != nil && r.Body != http.NoBody {
			control := http.NewResponseController(w)
			setRead(control, time.Now().Add(bodyTimeout))
			r.Body = &timedBody{ReadCloser: r.Body, control: control}
		}
		next.ServeHTTP(w, r)
	})
}

// SetWriteTimeout sets the time, from now, until the last byte of the response must have been sent; zero means no
// limit.
func SetWriteTimeout(w http.ResponseWriter, d time.Duration) {
	deadline := time.Time{}
	if d > 0 {
		deadline = time.Now().Add(d)
	}
	//nolint:errcheck // only test connections have no deadlines; a closed connection fails at the next write
	http.NewResponseController(w).SetWriteDeadline(deadline)
}

// writePace is the time within which a slow reader must accept one write of a paced response. io.Copy writes 32 KiB at
// a time, so that the minimum rate is about 1 KiB per second.
const writePace = 30 * time.Second

// PacedResponse replaces the time limit of the whole response by a minimum rate: large files may take long, but a
// client that does not read is disconnected.
func PacedResponse(w http.ResponseWriter) http.ResponseWriter { return pacedResponse{w} }

// pacedResponse has no ReadFrom method, which would send a whole file without calling Write.
type pacedResponse struct{ http.ResponseWriter }

var _ http.ResponseWriter = (*pacedResponse)(nil)

func (w pacedResponse) Write(p []byte) (int, error) {
	SetWriteTimeout(w.ResponseWriter, writePace)
	return w.ResponseWriter.Write(p)
}

// Unwrap returns the writer of the connection for http.ResponseController.
func (w pacedResponse) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// Paced replaces the time limit of the whole body of r by a minimum rate, which starts with the first read: large
// bodies may take long, slow ones not. A body that no handler reads keeps the usual limit. When the process stops
// before the body has arrived, its next read fails, and the context of r ends with ErrStopping.
func Paced(w http.ResponseWriter, r *http.Request) {
	if r.Body == nil || r.Body == http.NoBody {
		return
	}
	control := http.NewResponseController(w)
	r.Body = &timedBody{ReadCloser: r.Body, control: control, paced: true, arrived: paceBytes}
	ctx := r.Context()
	context.AfterFunc(ctx, func() {
		if errors.Is(context.Cause(ctx), ErrStopping) {
			setRead(control, time.Unix(1, 0)) // in the past: makes a pending read fail at once
		}
	})
}

// unreadTimeout limits how long the unread rest of a body may delay a response.
const unreadTimeout = 2 * time.Second

// SkipBody limits to unreadTimeout the time for which net/http reads the unread rest of a request body before it sends
// the response. Call it before responding to a request whose body was not read to its end.
func SkipBody(w http.ResponseWriter) {
	setRead(http.NewResponseController(w), time.Now().Add(unreadTimeout))
}

// timedBody clears the read deadline at the end of the body. net/http keeps reading afterwards to detect a disconnected
// client, and would mistake an expired deadline for one.
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
	//nolint:errcheck // as in SetWriteTimeout
	control.SetReadDeadline(deadline)
}
