package sms

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"

	"github.com/labplatform/labplatform/pkg/netguard"
	"github.com/labplatform/labplatform/services/taskqueue/internal/channel/provider"
	"github.com/labplatform/labplatform/services/taskqueue/internal/job"
	"github.com/labplatform/labplatform/services/taskqueue/internal/worker"
)

// TwilioSettings are the settings of a row of kind twilio.
type TwilioSettings struct {
	Account          string `json:"account"`           // AC…
	KeyID            string `json:"key_id"`            // SK… when the secret is an API key's; else the account's token
	TokenSecret      string `json:"token_secret"`      // name of the secret
	From             string `json:"from"`              // number or sender id for tasks without senderId
	MessagingService string `json:"messaging_service"` // MG…; instead of a sender
	BaseURL          string `json:"base_url"`
	TimeoutSeconds   int    `json:"timeout_seconds"`
}

const twilioBase = "https://api.twilio.com"

// Twilio sends through the Messages endpoint of Twilio's API, or one that copies it. Safe for concurrent use.
type Twilio struct {
	deps     Deps
	settings TwilioSettings
	endpoint *url.URL
}

// NewTwilio makes a provider from the settings of its row.
func NewTwilio(raw json.RawMessage, deps Deps) (*Twilio, error) {
	t := &Twilio{deps: deps, settings: TwilioSettings{BaseURL: twilioBase}}
	if err := provider.Decode(raw, &t.settings); err != nil {
		return nil, err
	}
	if t.settings.Account == "" || t.settings.TokenSecret == "" {
		return nil, errors.New("account and token_secret must be given")
	}
	if (t.settings.From == "") == (t.settings.MessagingService == "") {
		return nil, errors.New("exactly one of from and messaging_service must be given")
	}
	base, err := provider.ParseBase(t.settings.BaseURL)
	if err != nil {
		return nil, fmt.Errorf("base_url: %w", err)
	}
	t.endpoint = base.JoinPath("2010-04-01", "Accounts", t.settings.Account, "Messages.json")
	_, err = deps.Secrets.Secret(t.settings.TokenSecret)
	return t, err
}

// Paid is true.
func (t *Twilio) Paid() bool { return true }

// Handle sends one message once. No Idempotency-Key goes with it: the API has none, and it would make the
// transport repeat the request by itself.
func (t *Twilio) Handle(ctx context.Context, d worker.Delivery) (job.Result, error) {
	m, err := messageOf(d, "")
	if err != nil {
		return job.Result{}, err
	}
	token, err := t.deps.Secrets.Secret(t.settings.TokenSecret)
	if err != nil {
		return job.Result{}, provider.NoSecret("The provider's secret cannot be read")
	}
	answer, err := provider.Exchange(ctx, t.deps.Client, t.request(m, token.Reveal()), t.Paid())
	if err != nil {
		return provider.Interrupted(err), err
	}
	return t.conclude(answer)
}

func (t *Twilio) request(m Message, token string) netguard.Request {
	form := url.Values{"To": {m.To}, "Body": {m.Message}}
	switch {
	case m.Sender != "":
		form.Set("From", m.Sender)
	case t.settings.MessagingService != "":
		form.Set("MessagingServiceSid", t.settings.MessagingService)
	default:
		form.Set("From", t.settings.From)
	}
	user := t.settings.KeyID
	if user == "" {
		user = t.settings.Account
	}
	h := http.Header{"Content-Type": {"application/x-www-form-urlencoded"}, "Accept": {"application/json"}}
	h.Set("Authorization", "Basic "+base64.StdEncoding.EncodeToString([]byte(user+":"+token)))
	return netguard.Request{
		Method:  http.MethodPost,
		URL:     t.endpoint,
		Header:  h,
		Body:    []byte(form.Encode()),
		Timeout: timeout(t.settings.TimeoutSeconds),
	}
}

// twilioAnswer is what is read of both kinds of answer. Their texts repeat number and message: they are not kept.
type twilioAnswer struct {
	SID       string `json:"sid"`
	Status    any    `json:"status"` // the message's state, or the HTTP status of an error
	ErrorCode int    `json:"error_code"`
	Code      int    `json:"code"`
}

func (t *Twilio) conclude(answer *netguard.Response) (job.Result, error) {
	var a twilioAnswer
	readable := json.Unmarshal(answer.Body, &a) == nil
	result := job.Result{HTTPStatus: answer.Status}
	if answer.Status < 200 || answer.Status > 299 {
		err := t.failure(answer, a.Code)
		result.Sent = provider.Interrupted(err).Sent
		return result, err
	}
	result.Sent, result.MessageID = true, a.SID
	if readable && (a.Status == "failed" || a.Status == "undelivered") {
		result.Sent = false
		return result, t.failure(answer, a.ErrorCode)
	}
	return result, nil
}

// failure classifies an error: by Twilio's code when we know it, else by the status.
func (t *Twilio) failure(answer *netguard.Response, code int) error {
	detail := ""
	if code != 0 {
		detail = fmt.Sprintf("error %d", code)
	}
	message := fmt.Sprintf("The provider refused the message (error %d)", code)
	switch code {
	case 14107, 20429, 21611, 63018: // too fast, queue full
		return job.Retryable(provider.RateLimited, message).After(netguard.RetryAfter(answer.Header, t.deps.Clock.Now()))
	case 20500, 20503:
		return job.Retryable("twilio_down", message)
	case 21211, 21214, 21217, 21219, 21265, 21266, 21401, 21421, 21602, 21604, 21605, 21610, 21614, 21617, 21619, 30003,
		30004, 30005, 30006:
		return job.Permanent("twilio_"+fmt.Sprint(code), message) // the number or the text; 21610: the recipient said STOP
	case 20003, 20005, 20006, 20404, 21212, 21408, 21603, 21606, 21608, 21612, 21659, 21660, 21703, 21704, 30002, 30007,
		30034:
		return provider.FailOver(
			"twilio_"+fmt.Sprint(code),
			message,
		) // our account, our sender, a region or route that it lacks
	}
	if answer.Status < 300 {
		return provider.FailOver("twilio_failed", message)
	}
	return provider.Status(answer.Status, answer.Header, t.deps.Clock.Now(), t.Paid(), detail)
}
