package email

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/textproto"
	"strings"
	"time"

	gomail "github.com/wneessen/go-mail"
	"github.com/wneessen/go-mail/smtp"

	"github.com/labplatform/labplatform/pkg/config"
	"github.com/labplatform/labplatform/services/taskqueue/internal/channel/provider"
	"github.com/labplatform/labplatform/services/taskqueue/internal/job"
)

const quitTimeout = 3 * time.Second

// open connects, secures and authenticates. hangUp ends the connection, and so does ctx: an unfinished message must
// never get its final dot.
func (p *Provider) open(ctx context.Context, password config.Secret) (client *smtp.Client, hangUp func(), err error) {
	s := &p.settings
	encryption := p.deps.TLS
	if encryption == nil {
		encryption = &tls.Config{ServerName: s.Host, MinVersion: tls.VersionTLS12}
	}
	dial := (&net.Dialer{}).DialContext
	if s.TLS == "implicit" {
		dial = (&tls.Dialer{Config: encryption}).DialContext
	}
	var conn net.Conn
	options := []gomail.Option{
		gomail.WithPort(s.Port),
		gomail.WithTimeout(s.timeout()),
		gomail.WithTLSPolicy(policies()[s.TLS]),
		gomail.WithTLSConfig(encryption),
		gomail.WithHELO(domain(s.From)),
		gomail.WithDialContextFunc(func(ctx context.Context, network, address string) (_ net.Conn, err error) {
			conn, err = dial(ctx, network, address)
			return conn, err
		}),
	}
	if s.User != "" {
		options = append(options, gomail.WithUsername(s.User), gomail.WithPassword(password.Reveal()),
			gomail.WithSMTPAuth(s.mechanism()))
	}
	dialer, err := gomail.NewClient(s.Host, options...)
	if err != nil {
		return nil, nil, fmt.Errorf("mail client: %w", err)
	}
	client, err = dialer.DialToSMTPClientWithContext(ctx)
	if err != nil {
		if conn != nil {
			_ = conn.Close() // the library leaves it open
		}
		return nil, nil, err
	}
	stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
	return client, func() { stop(); _ = conn.Close() }, nil
}

// mechanism is the configured one. Discovery on an implicit TLS connection would not see the encryption and
// avoid PLAIN, which is what such servers offer.
func (s *Settings) mechanism() gomail.SMTPAuthType {
	found := mechanisms()[s.Auth]
	if found == gomail.SMTPAuthAutoDiscover && s.TLS == "implicit" {
		return gomail.SMTPAuthPlain
	}
	return found
}

// deliver hands over one message. refused is the number of recipients that the server will never take while it
// took others. One recipient that may be taken later holds the message back for all: no one gets it twice.
func deliver(client *smtp.Client, from string, l *letter) (refused int, err error) {
	if err := client.Mail("<" + from + ">"); err != nil {
		return 0, replyFailure("sender", err, true)
	}
	var last *job.Failure
	for _, to := range l.to {
		err := client.Rcpt(to)
		if err == nil {
			continue
		}
		if last = replyFailure("recipient", err, false); !last.Permanent || last.Elsewhere {
			return 0, last
		}
		refused++
	}
	if last != nil && refused == len(l.to) {
		return refused, last
	}
	w, err := client.Data()
	if err != nil {
		return refused, replyFailure("data", err, false)
	}
	if _, err := l.text.WriteTo(w); err != nil {
		return refused, job.Retryable("connection_lost", "The connection to the mail server broke while the message was sent").
			WithCause(err)
	}
	if err := w.Close(); err != nil {
		return refused, finalFailure(err)
	}
	return refused, nil
}

// finalFailure is about the answer to the complete message: without one it may have been accepted. It is sent again:
// the Message-ID is the same, so mail programs show it once, and a lost report is worse than one shown twice.
func finalFailure(err error) error {
	var reply *textproto.Error
	if !errors.As(err, &reply) {
		return job.RepeatableDoubt("no_answer", "The mail server did not answer after the complete message; it may have been sent").
			WithCause(err)
	}
	return replyFailure("message", err, false)
}

// replyFailure classifies a reply: 4xx may pass, 5xx will not. Policy (5.7.x) and everything before the first
// recipient are between us and this server.
func replyFailure(step string, err error, own bool) *job.Failure {
	var reply *textproto.Error
	if !errors.As(err, &reply) {
		return job.Retryable("connection_lost", "The connection to the mail server broke").WithCause(err)
	}
	message := fmt.Sprintf("The mail server answered %d to the %s", reply.Code, step)
	switch {
	case reply.Code < 500:
		return job.Retryable("smtp_4xx", message)
	case own, strings.HasPrefix(reply.Msg, "5.7."):
		return provider.FailOver("smtp_5xx", message)
	default:
		return job.Permanent("smtp_5xx", message)
	}
}

// openFailure classifies errors from before the transaction.
func openFailure(err error) error {
	var reply *textproto.Error
	var certificate *tls.CertificateVerificationError
	switch {
	case errors.As(err, &reply):
		return replyFailure("connection", err, true)
	case errors.As(err, &certificate):
		return provider.FailOver("smtp_tls", "The mail server's certificate is not valid")
	case notOffered(err):
		return provider.FailOver("smtp_setup", "The mail server does not offer the configured encryption or authentication")
	default:
		return job.Retryable("connection", "The mail server cannot be reached").WithCause(err)
	}
}

// notOffered recognises what the library says when the server lacks what the settings demand.
func notOffered(err error) bool {
	for _, known := range []error{
		gomail.ErrNoSupportedAuthDiscovered, gomail.ErrPlainAuthNotSupported, gomail.ErrLoginAuthNotSupported,
		gomail.ErrCramMD5AuthNotSupported, gomail.ErrSCRAMSHA256AuthNotSupported, smtp.ErrUnencrypted} {
		if errors.Is(err, known) {
			return true
		}
	}
	return strings.Contains(err.Error(), "does not support") // STARTTLS, AUTH: texts without a value
}
