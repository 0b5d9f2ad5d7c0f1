// Package email delivers e-mail tasks through an SMTP server: it composes the message with its attachments, runs the
// SMTP transaction, and classifies the server's replies.
package email

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/mail"
	"slices"
	"strings"
	"time"

	gomail "github.com/wneessen/go-mail"

	"github.com/labplatform/labplatform/services/taskqueue/internal/delivery/provider"
)

// Settings are the settings of a row of kind smtp.
type Settings struct {
	Host           string   `json:"host"`
	Port           int      `json:"port"`            // 587, or 465 if tls is implicit
	TLS            string   `json:"tls"`             // starttls (the default), implicit, opportunistic, none
	Auth           string   `json:"auth"`            // auto (default with a user), plain, login, cram-md5, scram-sha-256
	User           string   `json:"user"`            // "": no authentication
	PasswordSecret string   `json:"password_secret"` // name of the secret with the password
	From           string   `json:"from"`            // sender of tasks without sender_email, and bounce address
	FromName       string   `json:"from_name"`
	SenderDomains  []string `json:"sender_domains"` // domains of sender_email allowed in From; empty: all
	MessageDomain  string   `json:"message_domain"` // right side of Message-ID; if empty, the domain of from
	TimeoutSeconds int      `json:"timeout_seconds"`
}

func parse(raw json.RawMessage) (Settings, error) {
	var s Settings
	if err := provider.Decode(raw, &s); err != nil {
		return s, err
	}
	var problems []error
	if s.Host == "" {
		problems = append(problems, errors.New("host is missing"))
	}
	from, err := mail.ParseAddress(s.From)
	if err != nil {
		return s, errors.Join(append(problems, errors.New("from must be an e-mail address"))...)
	}
	s.From = withASCII(from.Address)
	if s.MessageDomain == "" {
		s.MessageDomain = domain(s.From)
	}
	if _, ok := policies()[s.TLS]; !ok {
		problems = append(problems, fmt.Errorf("tls is %q: use starttls, implicit, opportunistic or none", s.TLS))
	}
	if _, ok := mechanisms()[s.Auth]; !ok {
		problems = append(problems, fmt.Errorf("auth is %q: use auto, plain, login, cram-md5 or scram-sha-256", s.Auth))
	}
	if (s.User == "") != (s.PasswordSecret == "") {
		problems = append(problems, errors.New("user and password_secret belong together"))
	}
	if s.Port == 0 {
		s.Port = map[bool]int{true: 465, false: 587}[s.TLS == "implicit"]
	}
	return s, errors.Join(problems...)
}

func (s *Settings) timeout() time.Duration {
	return provider.Timeout(s.TimeoutSeconds, time.Minute, 5*time.Minute)
}

func policies() map[string]gomail.TLSPolicy {
	return map[string]gomail.TLSPolicy{"": gomail.TLSMandatory, "starttls": gomail.TLSMandatory, "implicit": gomail.NoTLS,
		"opportunistic": gomail.TLSOpportunistic, "none": gomail.NoTLS}
}

func mechanisms() map[string]gomail.SMTPAuthType {
	return map[string]gomail.SMTPAuthType{
		"":              gomail.SMTPAuthAutoDiscover,
		"auto":          gomail.SMTPAuthAutoDiscover,
		"plain":         gomail.SMTPAuthPlain,
		"login":         gomail.SMTPAuthLogin,
		"cram-md5":      gomail.SMTPAuthCramMD5,
		"scram-sha-256": gomail.SMTPAuthSCRAMSHA256,
	}
}

func domain(address string) string { return address[strings.LastIndexByte(address, '@')+1:] }

// maySend reports whether the provider may use address, with its domain in ASCII, as From.
func (s *Settings) maySend(address string) bool {
	return len(s.SenderDomains) == 0 ||
		slices.ContainsFunc(s.SenderDomains, func(d string) bool { return strings.EqualFold(withASCII(d), domain(address)) })
}
