package submit

import (
	"errors"
	"fmt"
	"net/mail"
	"regexp"
	"slices"
	"strings"

	"github.com/labplatform/labplatform/services/taskqueue/internal/job"
	"github.com/labplatform/labplatform/services/taskqueue/internal/phone"
	"github.com/labplatform/labplatform/services/taskqueue/internal/task"
)

const (
	maxRecipients = 500
	maxTTL        = 28 * 24 * 3600
)

func (c *checker) sms(d *task.SMS) {
	to := c.recipient(d.Recipient)
	c.wrong.If(to.Landline, "data.contact", "data.contact is a landline, which gets no SMS")
	c.wrong.If(d.Message == "", "data.message", "data.message is missing")
	c.provider(job.SMS, d.Config)
	c.url("data.callback_url", d.CallbackURL, false)
}

// recipient determines the phone number of a task. It is stored with its country, so that a number without a calling
// code goes to the same phone even if the setting changes or another release sends it.
func (c *checker) recipient(r task.Recipient) phone.Number {
	if r.Contact == "" {
		c.wrong.If(true, "data.contact", "data.contact is missing")
		return phone.Number{}
	}
	to, err := r.Number(c.Country)
	if errors.Is(err, phone.ErrCountry) && c.Country == 0 && c.caller.Internal { // a setting could provide the country
		c.setup(true, "data.contact", fmt.Sprintf("data.contact %v", err))
		return phone.Number{}
	}
	c.wrong.If(err != nil, "data.contact", "data.contact %v", err)
	c.wrong.If(!c.Mailbox && phone.Reserved(string(r.Contact)), "data.contact",
		"data.contact is a number of the mailbox, which is off here")
	c.to = to
	return to
}

func (c *checker) provider(channel job.Channel, p task.Provider) {
	c.setup(p.Provider != "" && !c.Known(channel, p.Provider), "data.config.provider",
		"data.config.provider is not configured here; leave it out for the default")
}

// senders rejects senders that the laboratory may not use. Tasks of the platform without a laboratory are not checked.
func (c *checker) senders() {
	if c.Sender == nil || c.caller.LabID == 0 {
		return
	}
	named, _ := task.Senders(c.row.Channel, c.Body.Data) // the data was decoded before
	for _, one := range named {
		c.setup(!c.Sender(c.row.Channel, c.caller.LabID, one), one.Field, one.Field+
			" is not a sender of this laboratory; leave it out for the default, or ask the platform to allow it")
	}
}

func (c *checker) email(d *task.Email) {
	c.wrong.If(len(d.To) == 0, "data.to", "data.to is missing")
	c.wrong.If(len(d.To)+len(d.CC)+len(d.BCC) > maxRecipients, "data.to",
		"a message has at most %d recipients", maxRecipients)
	c.addresses("data.to", d.To)
	c.addresses("data.cc", d.CC)
	c.addresses("data.bcc", d.BCC)
	if d.SenderEmail != "" {
		c.addresses("data.sender_email", []string{d.SenderEmail})
	}
	templated := job.Flag(d.IsTemplate)
	c.wrong.If(templated && d.Template == "", "data.template", "data.template is missing although is_template is 1")
	c.wrong.If(!templated && d.Message == "", "data.message", "data.message is missing")
	c.files(d.Files)
	c.url("data.callback_url", d.CallbackURL, false)
}

func (c *checker) addresses(field string, list []string) {
	c.wrong.If(slices.ContainsFunc(list, func(text string) bool {
		a, err := mail.ParseAddress(text)
		return err != nil || a.Address == ""
	}), field, "%s holds something that is not an e-mail address", field)
}

func (c *checker) files(list []string) {
	for _, file := range list {
		c.url("data.files", file, true)
	}
}

// platformTopic matches the topics created by the notification service.
var platformTopic = regexp.MustCompile(`_notification_type_\d+_`)

// topicName matches the topics accepted by the push provider.
var topicName = regexp.MustCompile(`^[A-Za-z0-9_.~%-]{1,900}$`)

func blank(text string) bool { return strings.TrimSpace(text) == "" }

func (c *checker) push(d *task.Push) {
	c.wrong.If(!c.caller.Internal && platformTopic.MatchString(d.Topic), "data.topic",
		"data.topic is a topic of the platform, which only its services may name; send to data.tokens")
	c.wrong.If((len(d.Tokens) == 0) == (d.Topic == ""), "data.tokens",
		"exactly one of data.tokens and data.topic must be given")
	c.wrong.If(slices.ContainsFunc(d.Tokens, blank), "data.tokens", "data.tokens holds an empty token")
	c.wrong.If(d.Topic != "" && !topicName.MatchString(d.Topic), "data.topic",
		"data.topic may have letters, digits and the signs - _ . ~ %%")
	c.wrong.If(d.Title == "" && d.Body == "" && len(d.Data) == 0, "data.title",
		"a push needs data.title, data.body or data.data")
	c.wrong.If(!slices.Contains([]string{"", "high", "normal"}, d.Priority), "data.priority",
		"data.priority must be high or normal")
	c.wrong.If(d.TTL != nil && (*d.TTL < 0 || *d.TTL > maxTTL), "data.ttl", "data.ttl must be 0 to %d seconds", maxTTL)
	c.url("data.callback_url", d.CallbackURL, false)
}

func unfitParam(text string) bool { return blank(text) || strings.ContainsAny(text, "\r\n\t") }

func (c *checker) whatsApp(d *task.WhatsApp) {
	c.recipient(d.Recipient)
	c.wrong.If(d.Message == "" && d.Template == "", "data.message", "data.message or data.template must be given")
	c.wrong.If(slices.ContainsFunc(d.Params, unfitParam), "data.params",
		"data.params holds a text that is empty or has line breaks or tabs, which WhatsApp refuses")
	c.provider(job.WhatsApp, d.Config)
	c.files(d.Files)
	c.url("data.callback_url", d.CallbackURL, false)
}
