package email_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"io"
	"math/big"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/emersion/go-sasl"
	"github.com/emersion/go-smtp"
)

// script defines the server's replies; nil members accept.
type script struct {
	mail, data error
	rcpt       map[string]error
	hangUp     bool          // close the connection after the complete message
	mute       bool          // read the message but never reply
	slow       time.Duration // delay before the reply to the complete message
	login      bool          // require authentication
	tls        *tls.Config
	implicit   bool
}

// received is a message accepted by the server.
type received struct {
	from string
	to   []string
	text []byte
	utf8 bool // the client requested SMTPUTF8
}

// server is an SMTP server in this process.
type server struct {
	script script
	host   string
	port   int
	done   chan struct{}

	mu   sync.Mutex
	list []received
}

func serve(t *testing.T, s script) *server {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	at := listener.Addr().(*net.TCPAddr)
	b := &server{script: s, host: "127.0.0.1", port: at.Port, done: make(chan struct{})}
	server := smtp.NewServer(b)
	server.Domain, server.AllowInsecureAuth, server.TLSConfig, server.EnableSMTPUTF8 = "mail.test", true, s.tls, true
	if s.implicit {
		listener = tls.NewListener(listener, s.tls)
		server.TLSConfig = nil
	}
	server.ErrorLog = quiet{}
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		_ = server.Serve(listener)
	}()
	t.Cleanup(func() {
		close(b.done)
		_ = server.Close()
		_ = listener.Close() // unknown to a server that has not started
		<-stopped
	})
	return b
}

type quiet struct{}

func (quiet) Printf(string, ...interface{}) {}
func (quiet) Println(...interface{})        {}

func (b *server) NewSession(c *smtp.Conn) (smtp.Session, error) { return &session{b: b, conn: c}, nil }

func (b *server) accepted() []received {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.list
}

// take makes the server accept a recipient from now on.
func (b *server) take(to string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.script.rcpt, to)
}

type session struct {
	b      *server
	conn   *smtp.Conn
	authed bool
	now    received
}

func (s *session) AuthMechanisms() []string {
	if s.b.script.login {
		return []string{sasl.Plain}
	}
	return nil
}

func (s *session) Auth(string) (sasl.Server, error) {
	return sasl.NewPlainServer(func(_, user, password string) error {
		if user != "lab" || password != "s3cret" {
			return &smtp.SMTPError{Code: 535, EnhancedCode: smtp.EnhancedCode{5, 7, 8}, Message: "no"}
		}
		s.authed = true
		return nil
	}), nil
}

func (s *session) Reset()        { s.now = received{} }
func (s *session) Logout() error { return nil }

func (s *session) Mail(from string, options *smtp.MailOptions) error {
	if s.b.script.login && !s.authed {
		return smtp.ErrAuthRequired
	}
	s.now.from, s.now.utf8 = from, options != nil && options.UTF8
	return s.b.script.mail
}

func (s *session) Rcpt(to string, _ *smtp.RcptOptions) error {
	s.b.mu.Lock()
	err := s.b.script.rcpt[to]
	s.b.mu.Unlock()
	if err != nil {
		return err
	}
	s.now.to = append(s.now.to, to)
	return nil
}

func (s *session) Data(r io.Reader) error {
	text, err := io.ReadAll(r)
	if err != nil {
		return err
	}
	time.Sleep(s.b.script.slow)
	switch {
	case s.b.script.hangUp:
		_ = s.conn.Conn().Close()
		return errors.New("gone")
	case s.b.script.mute:
		<-s.b.done
		return errors.New("gone")
	case s.b.script.data != nil:
		return s.b.script.data
	}
	s.now.text = text
	s.b.mu.Lock()
	defer s.b.mu.Unlock()
	s.b.list = append(s.b.list, s.now)
	return nil
}

func reply(code int, a, b, c int) error {
	return &smtp.SMTPError{Code: code, EnhancedCode: smtp.EnhancedCode{a, b, c}, Message: "as the test says"}
}

// certificate returns a self-signed certificate for 127.0.0.1, and a root pool that trusts it.
func certificate(t *testing.T) (config *tls.Config, roots *x509.CertPool) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "mail.test"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true}
	raw, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	parsed, err := x509.ParseCertificate(raw)
	if err != nil {
		t.Fatal(err)
	}
	roots = x509.NewCertPool()
	roots.AddCert(parsed)
	return &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{raw}, PrivateKey: key}}}, roots
}
