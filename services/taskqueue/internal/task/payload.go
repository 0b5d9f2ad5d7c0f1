package task

import (
	"bytes"
	"encoding/json"
	"errors"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/labplatform/labplatform/pkg/labjson"
	"github.com/labplatform/labplatform/services/taskqueue/internal/job"
	"github.com/labplatform/labplatform/services/taskqueue/internal/phone"
)

// Digits is a number sent as a JSON integer or as a string of digits. Leading zeros are kept.
type Digits string

// Telephone is a phone number as sent by callers: a JSON integer, or a string that may begin with + and contain the
// usual separators.
type Telephone string

// UnmarshalJSON accepts 9812345678, "09812345678" and "+91 98123-45678". It does not check whether the number exists.
func (t *Telephone) UnmarshalJSON(raw []byte) error {
	text, allowed := string(raw), "0123456789"
	if raw[0] == '"' {
		allowed += "+ ().-"
		if err := json.Unmarshal(raw, &text); err != nil {
			return err
		}
	}
	switch {
	case text == "null":
		return nil
	case len(text) > maxTelephone || strings.Trim(text, allowed) != "":
		return errDigits
	}
	*t = Telephone(text)
	return nil
}

const maxTelephone = 30

// Recipient is the recipient of an SMS or a WhatsApp message.
type Recipient struct {
	Contact     Telephone `json:"contact"`
	CountryCode Digits    `json:"countryCode"`
}

// Number returns the phone number of the recipient. country is the calling code for numbers without one; 0: no default.
func (r Recipient) Number(country int) (phone.Number, error) {
	own := phone.Country(string(r.CountryCode))
	if own == 0 && !phone.International(string(r.Contact)) {
		own = country
	}
	return phone.Parse(own, string(r.Contact))
}

// Accepted returns the phone number of an accepted task, or a permanent failure if it is not valid.
func (r Recipient) Accepted() (phone.Number, error) {
	to, err := r.Number(0)
	if err != nil {
		return to, job.Permanent("bad_number", "The telephone number "+err.Error())
	}
	return to, nil
}

// UnmarshalJSON accepts 919812345678 and "0919812345678".
func (d *Digits) UnmarshalJSON(raw []byte) error {
	text := strings.Trim(string(raw), `"`)
	if text == "null" {
		return nil
	}
	if text == "" || len(text) > 20 || strings.Trim(text, "0123456789") != "" {
		return errDigits
	}
	*d = Digits(text)
	return nil
}

var errDigits = errors.New("must be digits")

// WithRecipient returns data with the national number of to in contact and the calling code in countryCode, a form that
// all releases read in the same way. A national number that could be read with its first digits as the calling code is
// written with 00 and the calling code, without countryCode: 1.0.0 cannot read +, and would add countryCode. Other
// members are unchanged. It returns data itself if it already has this form, or if to has no country.
func WithRecipient(data []byte, to phone.Number) []byte {
	var members map[string]json.RawMessage
	if to.Country == 0 || json.Unmarshal(data, &members) != nil {
		return data
	}
	country := strconv.Itoa(to.Country)
	contact := strings.TrimPrefix(to.Digits, country)
	if again, err := phone.Parse(to.Country, contact); err != nil || again != to {
		contact, country = "00"+to.Digits, ""
	}
	if string(members["countryCode"]) == country && strings.Trim(string(members["contact"]), `"`) == contact {
		return data
	}
	members["contact"], members["countryCode"] = json.RawMessage(strconv.Quote(contact)), json.RawMessage(country)
	if country == "" {
		delete(members, "countryCode")
	}
	stored, err := json.Marshal(members)
	if err != nil {
		return data
	}
	return stored
}

// Provider is the config object of SMS and WhatsApp tasks.
type Provider struct {
	Provider string `json:"provider"`
}

// SMS is the payload of task 1.
type SMS struct {
	Recipient
	Message     string   `json:"message"`
	SenderID    string   `json:"senderId"`
	OTP         Digits   `json:"otp"`
	Config      Provider `json:"config"`
	CallbackURL string   `json:"callback_url"`
}

// Email is the payload of task 2.
type Email struct {
	To          []string        `json:"to"`
	CC          []string        `json:"cc"`
	BCC         []string        `json:"bcc"`
	Subject     string          `json:"subject"`
	Message     string          `json:"message"`
	SenderName  string          `json:"sender_name"`
	SenderEmail string          `json:"sender_email"`
	Files       []string        `json:"files"`
	Template    string          `json:"template"`
	IsTemplate  json.RawMessage `json:"is_template"`
	CallbackURL string          `json:"callback_url"`
}

// HTML returns the text of a mail.
func (d *Email) HTML() string {
	if job.Flag(d.IsTemplate) {
		return d.Template
	}
	return d.Message
}

// Push is the payload of task 3.
type Push struct {
	Tokens      []string          `json:"tokens"`
	Topic       string            `json:"topic"`
	Title       string            `json:"title"`
	Body        string            `json:"body"`
	Data        map[string]string `json:"data"`
	Image       string            `json:"image"`
	ClickAction string            `json:"click_action"`
	Platform    string            `json:"platform"`
	Priority    string            `json:"priority"`
	TTL         *int              `json:"ttl"`
	CollapseKey string            `json:"collapse_key"`
	CallbackURL string            `json:"callback_url"`
}

// Webhook is the payload of task 4. Args keeps the caller's bytes.
type Webhook struct {
	URL         string            `json:"url"`
	Args        json.RawMessage   `json:"args"`
	IsBody      json.RawMessage   `json:"isBody"`
	Timeout     *int              `json:"timeout"`
	Callback    json.RawMessage   `json:"callback"`
	CallbackURL string            `json:"callback_url"`
	Headers     map[string]string `json:"headers"`
}

// WhatsApp is the payload of task 6.
type WhatsApp struct {
	Recipient
	Message     string   `json:"message"`
	Template    string   `json:"template"`
	Language    string   `json:"language"`
	Params      []string `json:"params"`
	Files       []string `json:"files"`
	FileName    string   `json:"file_name"`
	Config      Provider `json:"config"`
	CacheKey    string   `json:"cache_key"`
	CallbackURL string   `json:"callback_url"`
}

// Decode decodes data into dst. On an error, it returns the invalid field and a message for the caller.
func Decode(data []byte, dst any) (field, message string) {
	err := json.Unmarshal(data, dst)
	if err == nil {
		return misspelt(data, dst)
	}
	var wrong *json.UnmarshalTypeError
	if errors.As(err, &wrong) && wrong.Field != "" {
		return "data." + wrong.Field, "data." + wrong.Field + " " + labjson.Must(wrong.Type)
	}
	if errors.Is(err, errDigits) {
		return "data", "contact must be a telephone number, countryCode and otp whole numbers or strings of digits"
	}
	return "data", "data is not valid JSON for this task"
}

// misspelt returns a member of data whose name resembles a member of the payload. Such a member must not be ignored:
// with a misspelt countrycode, the message would go to another country.
func misspelt(data []byte, payload any) (field, message string) {
	var members map[string]json.RawMessage
	if json.Unmarshal(data, &members) != nil {
		return "", ""
	}
	known := membersOf(reflect.TypeOf(payload).Elem())
	for _, name := range slices.Sorted(maps.Keys(members)) {
		if meant := labjson.Near(name, known); meant != "" {
			return "data." + name, "data." + name + " is not a member; it is written " + meant
		}
	}
	return "", ""
}

// membersByType caches memberNames: reading the tags of a payload costs as much as decoding it.
var membersByType sync.Map

func membersOf(t reflect.Type) []string {
	if names, ok := membersByType.Load(t); ok {
		return names.([]string)
	}
	names := memberNames(t)
	membersByType.Store(t, names)
	return names
}

// memberNames returns the JSON names of a payload's members.
func memberNames(t reflect.Type) (names []string) {
	for i := range t.NumField() {
		f := t.Field(i)
		if f.Anonymous {
			names = append(names, memberNames(f.Type)...)
			continue
		}
		names = append(names, f.Tag.Get("json"))
	}
	return names
}

// IsObject reports whether raw is a JSON object.
func IsObject(raw []byte) bool {
	return bytes.HasPrefix(bytes.TrimLeft(raw, " \t\r\n"), []byte("{")) && json.Valid(raw)
}
