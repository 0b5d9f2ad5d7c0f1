package sms

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"time"

	"github.com/labplatform/labplatform/pkg/netguard"
	"github.com/labplatform/labplatform/services/taskqueue/internal/delivery/provider"
)

// GatewaySettings are the settings of a row of kind http, for any gateway that accepts one HTTP request per message.
// url, headers and body are templates over Message with the functions json, query, path and secret.
type GatewaySettings struct {
	Method         string            `json:"method"` // POST by default
	URL            string            `json:"url"`
	Headers        map[string]string `json:"headers"`
	Body           string            `json:"body"`
	Sender         string            `json:"sender"` // sender of tasks without senderId
	TimeoutSeconds int               `json:"timeout_seconds"`
	Success        Success           `json:"success"`
	Failure        Failure           `json:"failure"`
	MessageID      string            `json:"message_id"` // path of the message id in the JSON response, such as data.0.id
}

// Success describes the response to an accepted message: the status and, for gateways that always return 200, also a
// member of the JSON body or a line of text. At least one of the three is needed.
type Success struct {
	Statuses []int    `json:"statuses"` // empty: all 2xx
	Field    string   `json:"field"`    // path in the JSON response
	Values   []string `json:"values"`   // values of the field on success
	Text     string   `json:"text"`     // regular expression that matches the body on success
	text     *regexp.Regexp
}

// Failure describes the response to a rejected message, for gateways that return a success status with a line of text.
type Failure struct {
	Text    string `json:"text"`    // regular expression that matches the body on failure
	Message string `json:"message"` // regular expression that matches rejections of one message; usualMessage by default
	text    *regexp.Regexp
	message *regexp.Regexp
}

// usualMessage matches the usual texts about an invalid number, an unknown template and a long text. Numeric codes and
// other texts may be about the balance or the credentials, and are taken for rejections of the account.
const usualMessage = `(?i)\b(invalid|wrong|unknown|unregistered|unreachable|blocked|missing)\b[^.]*\b(number|mobile|msisdn|recipient|destination|template)\b` +
	`|\b(number|mobile|msisdn|recipient|destination|template)\b[^.]*\b(invalid|wrong|unknown|unregistered|unreachable|blocked|missing|not found)\b` +
	`|\btoo long\b|\bdnd\b|\bopted out\b`

// NewGateway returns a provider for the settings of a row. It renders the templates with a message full of special
// characters, so that a missing escape function or a refused URL is detected as an error of the settings.
func NewGateway(raw json.RawMessage, deps provider.Deps) (*Provider, error) {
	var s GatewaySettings
	if err := provider.Decode(raw, &s); err != nil {
		return nil, err
	}
	s.Method = cmp.Or(s.Method, http.MethodPost)
	if !slices.Contains([]string{http.MethodGet, http.MethodPost, http.MethodPut}, s.Method) {
		return nil, fmt.Errorf("method is %q: use GET, POST or PUT", s.Method)
	}
	if err := s.compileRules(); err != nil {
		return nil, err
	}
	t, err := newRequestTemplate(&s, deps.Secrets)
	if err != nil {
		return nil, err
	}
	p := &Provider{deps: deps, sender: s.Sender, request: t.request}
	p.read = func(answer *netguard.Response) (string, error) {
		id, _ := provider.Lookup(answer.Body, s.MessageID)
		return id, s.judge(answer, deps.Clock.Now())
	}
	return p, t.rehearse(deps.CheckURL)
}

func (s *GatewaySettings) compileRules() (err error) {
	rule := &s.Success
	switch {
	case (rule.Field == "") != (len(rule.Values) == 0):
		return errors.New("success.field and success.values belong together")
	case len(rule.Statuses) == 0 && rule.Field == "" && rule.Text == "":
		return errors.New("success needs a rule that can fail: statuses, field with values, or text")
	case s.Failure.Text != "" && rule.Text == "" && rule.Field == "":
		return errors.New("failure.text needs success.text or success.field: a text that neither finds is unknown")
	}
	if rule.Text != "" {
		if rule.text, err = regexp.Compile(rule.Text); err != nil {
			return fmt.Errorf("success.text: %w", err)
		}
	}
	if s.Failure.Text != "" {
		if s.Failure.text, err = regexp.Compile(s.Failure.Text); err != nil {
			return fmt.Errorf("failure.text: %w", err)
		}
	}
	if s.Failure.message, err = regexp.Compile(cmp.Or(s.Failure.Message, usualMessage)); err != nil {
		return fmt.Errorf("failure.message: %w", err)
	}
	return nil
}

// judge returns nil if the response confirms the message. After an ambiguous response, the outcome is unknown, never
// refused.
func (s *GatewaySettings) judge(answer *netguard.Response, now time.Time) error {
	body := provider.Text(answer.Body)
	switch accepted := s.Success.accepts(answer.Status); {
	case !accepted && answer.Status < 300:
		return s.Failure.of(body,
			fmt.Sprintf("The provider answered %d, which its settings do not count as success", answer.Status))
	case !accepted:
		return provider.Status(answer, now, true, "")
	}
	asksBody := s.Failure.text != nil || s.Success.text != nil || s.Success.Field != ""
	if asksBody && (answer.Truncated || answer.Header.Get("Content-Encoding") != "") {
		return provider.Unreadable()
	}
	if s.Failure.text != nil && s.Failure.text.Match(body) {
		return s.Failure.of(body, refused)
	}
	if s.Success.text != nil && !s.Success.text.Match(body) {
		return provider.Unreadable()
	}
	if s.Success.Field == "" {
		return nil
	}
	value, found := provider.Lookup(body, s.Success.Field)
	switch {
	case !found:
		return provider.Unreadable()
	case !slices.Contains(s.Success.Values, value):
		return s.Failure.of(body, refused)
	}
	return nil
}

const refused = "The provider refused the message"

// of returns the failure of a rejected message. A rejection of the account pauses the provider, so that messages wait
// while its balance is used up. A rejection of one message does not: a campaign of one laboratory to invalid numbers
// must not delay the messages of all others.
func (f *Failure) of(body []byte, text string) error {
	const reason = "refused_by_provider"
	if f.message.Match(body) {
		return provider.FailOverOne(reason, text)
	}
	return provider.FailOver(reason, text)
}

func (s *Success) accepts(status int) bool {
	if len(s.Statuses) > 0 {
		return slices.Contains(s.Statuses, status)
	}
	return status >= 200 && status < 300
}
