package sms

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"

	"github.com/labplatform/labplatform/pkg/netguard"
	"github.com/labplatform/labplatform/services/taskqueue/internal/delivery/provider"
	"github.com/labplatform/labplatform/services/taskqueue/internal/job"
)

// TwilioSettings are the settings of a row of kind twilio.
type TwilioSettings struct {
	Account          string `json:"account"`           // account id, begins with AC
	KeyID            string `json:"key_id"`            // SK… if the secret is an API key; empty: account token
	TokenSecret      string `json:"token_secret"`      // name of the secret
	From             string `json:"from"`              // number or sender id for tasks without senderId
	MessagingService string `json:"messaging_service"` // begins with MG; instead of from
	BaseURL          string `json:"base_url"`
	TimeoutSeconds   int    `json:"timeout_seconds"`
}

// twilioCodes returns the codes from https://www.twilio.com/docs/api/errors by class.
func twilioCodes() *provider.Codes {
	return &provider.Codes{
		Prefix: "twilio_",
		Limits: []int{14107, 20429, 21611, 63018}, // rate limits, full queue
		Message: []int{21211, 21214, 21217, 21219, 21265, 21266, 21401, 21421, 21602, 21604, 21605, 21610, 21614, 21617,
			21619, 30003, 30004, 30005, 30006}, // number or text rejected; 21610: the recipient sent STOP
		One: []int{21408, 21608, 21612, 30007}, // region or route missing in the account; text filtered by a carrier
		Account: []int{20003, 20005, 20006, 20404, 21212, 21603, 21606, 21659, 21660, 21703, 21704, 30002,
			30034}, // account or sender
	}
}

// NewTwilio returns a provider that uses the Messages endpoint of Twilio's API or a compatible one.
func NewTwilio(raw json.RawMessage, deps provider.Deps) (*Provider, error) {
	s := TwilioSettings{BaseURL: "https://api.twilio.com"}
	if err := provider.Decode(raw, &s); err != nil {
		return nil, err
	}
	if s.Account == "" || s.TokenSecret == "" {
		return nil, errors.New("account and token_secret must be given")
	}
	if (s.From == "") == (s.MessagingService == "") {
		return nil, errors.New("exactly one of from and messaging_service must be given")
	}
	base, err := deps.ParseBase(s.BaseURL)
	if err != nil {
		return nil, err
	}
	p := &Provider{deps: deps, sender: s.From}
	p.request = func(m *Message) (netguard.Request, error) {
		token, err := deps.Secrets.Secret(s.TokenSecret)
		if err != nil {
			return netguard.Request{}, provider.NoSecret("The provider's secret cannot be read")
		}
		return s.request(m, base, token.Reveal()), nil
	}
	p.read = func(answer *netguard.Response) (string, error) { return readTwilio(answer, &deps) }
	_, err = deps.Secrets.Secret(s.TokenSecret)
	return p, err
}

func (s *TwilioSettings) request(m *Message, base *url.URL, token string) netguard.Request {
	form := url.Values{"To": {m.To}, "Body": {m.Message}}
	if m.Sender != "" {
		form.Set("From", m.Sender)
	} else {
		form.Set("MessagingServiceSid", s.MessagingService)
	}
	user := cmp.Or(s.KeyID, s.Account)
	h := http.Header{"Content-Type": {"application/x-www-form-urlencoded"}, "Accept": {"application/json"}}
	h.Set("Authorization", "Basic "+base64.StdEncoding.EncodeToString([]byte(user+":"+token)))
	return netguard.Request{
		Method:  http.MethodPost,
		URL:     base.JoinPath("2010-04-01", "Accounts", s.Account, "Messages.json"),
		Header:  h,
		Body:    []byte(form.Encode()),
		Timeout: provider.Timeout(s.TimeoutSeconds, defaultTimeout, maxTimeout),
	}
}

// readTwilio classifies a response by its status, and an accepted message by its own state. The texts of the response
// contain number and message, so they are not stored.
func readTwilio(answer *netguard.Response, deps *provider.Deps) (id string, err error) {
	id, named := provider.Lookup(answer.Body, "sid")
	codeAt := "code"
	if answer.Status >= 200 && answer.Status < 300 {
		state, said := provider.Lookup(answer.Body, "status")
		if !named || !said {
			return id, provider.Unreadable()
		}
		if state != "failed" && state != "undelivered" {
			return id, nil
		}
		codeAt = "error_code"
	}
	code := provider.Code(answer.Body, codeAt)
	if code == 20500 || code == 20503 {
		return id, job.Retryable("twilio_down", fmt.Sprintf("The provider refused the message (error %d)", code))
	}
	return id, twilioCodes().Failure(answer, code, deps.Clock.Now())
}
