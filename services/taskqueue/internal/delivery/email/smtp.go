package email

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/mail"
	"net/textproto"
	"strings"
	"time"

	gomail "github.com/wneessen/go-mail"
	"github.com/wneessen/go-mail/smtp"

	"github.com/labplatform/labplatform/pkg/config"
	"github.com/labplatform/labplatform/services/taskqueue/internal/channel/progress"
	"github.com/labplatform/labplatform/services/taskqueue/internal/delivery/provider"
	"github.com/labplatform/labplatform/services/taskqueue/internal/job"
)

const (
	quitTimeout = 3 * time.Second
	// finalReply is how long a server may take to reply to the complete message (RFC 5321, 4.5.3.2.6).
	finalReply = 10 * time.Minute
	// greylistPatience is how long a message is retried after temporary replies. Greylisting lasts minutes, a full mailbox
	// hours.
	greylistPatience = 4 * time.Hour
	serviceCloses    = 421
	recipientStep    = "recipient"
	messageStep      = "message"
	lost             = "connection_lost" // reason code of connection failures
)

// open connects to the server, encrypts the connection and authenticates. hangUp closes the connection, as does the end
// of ctx, so that the final dot is never sent for an incomplete message.
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
			_ = conn.Close() // the library does not close it
		}
		return nil, nil, err
	}
	stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
	return client, func() { stop(); _ = conn.Close() }, nil
}

// mechanism returns the authentication mechanism. With implicit TLS, auto means PLAIN, which such servers offer. The
// library's discovery does not detect this encryption and would avoid PLAIN.
func (s *Settings) mechanism() gomail.SMTPAuthType {
	found := mechanisms()[s.Auth]
	if found == gomail.SMTPAuthAutoDiscover && s.TLS == "implicit" {
		return gomail.SMTPAuthPlain
	}
	return found
}

// transaction sends a message to the recipients that do not have it yet.
type transaction struct {
	client *smtp.Client
	letter *letter
	marks  []byte // states of the recipients, see package progress
}

// deliver sends the message to the recipients that the server accepts now, and returns why others remain. A retry sends
// these a message of their own, so that one bad address does not delay the others. extend is called before the reply to
// the complete message is awaited, because that may take long.
func (t *transaction) deliver(from string, extend func()) error {
	if err := t.client.Mail("<" + from + ">"); err != nil {
		return replyFailure("sender", err, true)
	}
	taken, refusal := t.offer()
	if len(taken) == 0 {
		return t.end(refusal)
	}
	w, err := t.client.Data()
	if err != nil {
		return replyFailure("data", err, false)
	}
	if _, err = t.letter.text.WriteTo(w); err == nil {
		extend()
		err = t.client.UpdateDeadline(finalReply)
	}
	if err != nil {
		return job.Retryable(lost, "The connection to the mail server broke while the message was sent").
			WithCause(err)
	}
	if err := w.Close(); err != nil {
		return finalFailure(err)
	}
	for _, i := range taken {
		t.marks[i] = progress.Sent
	}
	return t.end(refusal)
}

// end returns the result for the states of the recipients: a retry if some remain; success if at least one has the
// message; otherwise refusal.
func (t *transaction) end(refusal *job.Failure) error {
	left := t.letter.places(t.marks, progress.Left)
	switch {
	case refusal == nil:
		return nil
	case refusal.Reason == lost:
		return refusal
	case left != "":
		later := *refusal
		later.Message += ", for " + left
		return &later
	case progress.Count(t.marks, progress.Sent) > 0:
		return nil
	}
	return refusal
}

// offer sends the remaining recipients to the server. It returns the positions of the accepted ones, and why others
// were not accepted: the last temporary reply or, without one, the first permanent reply.
func (t *transaction) offer() (taken []int, refusal *job.Failure) {
	for i, mark := range t.marks {
		if mark != progress.Left {
			continue
		}
		err := t.client.Rcpt((&mail.Address{Address: t.letter.to[i].address}).String())
		if err == nil {
			taken = append(taken, i)
			continue
		}
		failure := replyFailure(recipientStep, err, false)
		switch {
		case failure.Reason == lost:
			return nil, failure
		case failure.Permanent:
			t.marks[i] = progress.Refused
			failure.OfMessage = failure.Elsewhere
			refusal = cmp.Or(refusal, failure)
		default:
			refusal = failure
		}
	}
	return taken, refusal
}

// finalFailure classifies an error of the reply to the complete message. Without a reply, the message may have been
// accepted. It is then sent again with the same Message-ID, so that mail programs show it once; a lost report would be
// worse than a duplicate.
func finalFailure(err error) error {
	var reply *textproto.Error
	if !errors.As(err, &reply) {
		return job.RepeatableDoubt("no_answer", "The mail server did not answer after the complete message; it may have been sent").
			WithCause(err)
	}
	return replyFailure(messageStep, err, false)
}

// replyFailure classifies a reply: 4xx is temporary, 5xx permanent. 5.7.x (policy) concerns this sender and server, as
// does every 5xx if own is set, so another provider may send the message.
func replyFailure(step string, err error, own bool) *job.Failure {
	var reply *textproto.Error
	if !errors.As(err, &reply) {
		return job.Retryable(lost, "The connection to the mail server broke").WithCause(err)
	}
	message := fmt.Sprintf("The mail server answered %d to the %s", reply.Code, step)
	switch {
	case reply.Code < 500:
		failure := job.Retryable("smtp_4xx", message)
		failure.OfMessage = step == recipientStep && reply.Code != serviceCloses
		failure.Patience = greylistPatience
		return failure
	case step == messageStep && strings.HasPrefix(reply.Msg, "5.7."): // the message's content or sender
		return provider.FailOverOne("smtp_5xx", message)
	case own, strings.HasPrefix(reply.Msg, "5.7."):
		return provider.FailOver("smtp_5xx", message)
	default:
		return job.Permanent("smtp_5xx", message)
	}
}

// openFailure classifies errors that occur before the transaction.
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

// notOffered reports whether err is the library's error for a server that lacks the configured encryption or
// authentication.
func notOffered(err error) bool {
	for _, known := range []error{
		gomail.ErrNoSupportedAuthDiscovered, gomail.ErrPlainAuthNotSupported, gomail.ErrLoginAuthNotSupported,
		gomail.ErrCramMD5AuthNotSupported, gomail.ErrSCRAMSHA256AuthNotSupported, smtp.ErrUnencrypted} {
		if errors.Is(err, known) {
			return true
		}
	}
	return strings.Contains(err.Error(), "does not support") // the library has no error values for STARTTLS and AUTH
}
