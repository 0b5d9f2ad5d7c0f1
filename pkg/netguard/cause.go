package netguard

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"net/http"
	"syscall"
)

// Cause is why a request got no complete response, as a code and as text.
type Cause struct {
	Reason    string // stable: network, timeout, tls, tls_name, no_answer, canceled
	Predicate string // completes "The receiver …" in messages
}

// CauseOf returns why Do failed: name resolution, connection, TLS, a timeout before or after the request was sent, a
// closed connection, or a response that is not HTTP. It must not be called for errors that match ErrRefused.
func CauseOf(err error) Cause {
	var certificate *tls.CertificateVerificationError
	var record tls.RecordHeaderError
	var remote *net.OpError
	var host x509.HostnameError
	var name *net.DNSError
	var passed net.Error
	late := errors.Is(err, context.DeadlineExceeded) || errors.As(err, &passed) && passed.Timeout()
	switch {
	case errors.Is(err, context.Canceled):
		return Cause{"canceled", "was not waited for any longer"}
	case errors.Is(err, ErrUnanswered) && late:
		return Cause{"timeout", "did not answer in time after the request was sent"}
	case errors.Is(err, ErrUnanswered) && closed(err):
		return Cause{"no_answer", "closed the connection after the request was sent, without a complete answer"}
	case errors.Is(err, ErrUnanswered):
		return Cause{"no_answer", "sent an answer that is not valid HTTP"}
	case errors.As(err, &host):
		return Cause{"tls_name", "has a certificate for another host"}
	case errors.As(err, &certificate):
		return Cause{"tls", "has a certificate that is not trusted or not valid now"}
	case errors.Is(err, http.ErrSchemeMismatch), errors.As(err, &record):
		return Cause{"tls", "does not use encryption on this port"}
	case errors.As(err, &remote) && remote.Op == "remote error":
		return Cause{"tls", "does not accept our version, parameters or certificate of encryption"}
	case errors.As(err, &name):
		return Cause{"network", "has a host name that cannot be resolved"}
	case errors.Is(err, io.EOF):
		return Cause{"network", "closed the connection before the request was sent"}
	case late:
		return Cause{"timeout", "did not accept a connection in time"}
	}
	return Cause{"network", "cannot be reached: it refuses the connection, or no route leads to it"}
}

// closed reports whether the other side ended the connection.
func closed(err error) bool {
	var system syscall.Errno
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.As(err, &system)
}
