package api

import (
	"net/mail"
	"slices"

	"github.com/labplatform/labplatform/services/taskqueue/internal/job"
	"github.com/labplatform/labplatform/services/taskqueue/internal/task"
)

const (
	maxRecipients = 500
	minContact    = 4
	maxContact    = 15 // E.164
	maxTTL        = 28 * 24 * 3600
)

func (c *checker) sms(data []byte) {
	var d task.SMS
	if !c.decode(data, &d) {
		return
	}
	c.contact(d.Contact, d.CountryCode)
	if d.Message == "" {
		c.wrong("data.message", "data.message is missing")
	}
	c.provider(job.SMS, d.Config)
	c.sender("data.senderId", job.SMS, d.SenderID)
	c.sender("data.config.provider", job.SMS, d.Config.Provider)
	c.url("data.callback_url", d.CallbackURL, false)
}

func (c *checker) contact(number, country task.Digits) {
	if number == "" {
		c.wrong("data.contact", "data.contact is missing")
		return
	}
	if len(number) < minContact || len(number)+len(country) > maxContact+2 {
		c.wrong("data.contact", "data.contact is not a telephone number")
	}
	if len(country) > 4 {
		c.wrong("data.countryCode", "data.countryCode is not a country code")
	}
}

func (c *checker) provider(channel job.Channel, p task.Provider) {
	if p.Provider != "" && !c.Known(channel, p.Provider) {
		c.wrong("data.config.provider", "data.config.provider is not configured here; leave it out for the default")
	}
}

// sender refuses a sender that is not the laboratory's. What the platform sends for no laboratory is its own business.
func (c *checker) sender(field string, channel job.Channel, name string) {
	if name == "" || c.Sender == nil || c.caller.LabID == 0 || c.Sender(channel, c.caller.LabID, name) {
		return
	}
	c.wrong(field, "%s is not a sender of this laboratory; leave it out for the default, or ask the platform to allow it", field)
}

func (c *checker) email(data []byte) {
	var d task.Email
	if !c.decode(data, &d) {
		return
	}
	if len(d.To) == 0 {
		c.wrong("data.to", "data.to is missing")
	}
	if len(d.To)+len(d.CC)+len(d.BCC) > maxRecipients {
		c.wrong("data.to", "a message has at most %d recipients", maxRecipients)
	}
	c.addresses("data.to", d.To)
	c.addresses("data.cc", d.CC)
	c.addresses("data.bcc", d.BCC)
	if d.SenderEmail != "" {
		c.addresses("data.sender_email", []string{d.SenderEmail})
		if a, err := mail.ParseAddress(d.SenderEmail); err == nil {
			c.sender("data.sender_email", job.Email, a.Address)
		}
	}
	switch templated := job.Flag(d.IsTemplate); {
	case templated && d.Template == "":
		c.wrong("data.template", "data.template is missing although is_template is 1")
	case !templated && d.Message == "":
		c.wrong("data.message", "data.message is missing")
	}
	for _, file := range d.Files {
		c.url("data.files", file, true)
	}
	c.url("data.callback_url", d.CallbackURL, false)
}

func (c *checker) addresses(field string, list []string) {
	for _, text := range list {
		if a, err := mail.ParseAddress(text); err != nil || a.Address == "" {
			c.wrong(field, "%s holds something that is not an e-mail address", field)
			return
		}
	}
}

func (c *checker) push(data []byte) {
	var d task.Push
	if !c.decode(data, &d) {
		return
	}
	if (len(d.Tokens) == 0) == (d.Topic == "") {
		c.wrong("data.tokens", "exactly one of data.tokens and data.topic must be given")
	}
	if d.Title == "" && d.Body == "" && len(d.Data) == 0 {
		c.wrong("data.title", "a push needs data.title, data.body or data.data")
	}
	if !slices.Contains([]string{"", "high", "normal"}, d.Priority) {
		c.wrong("data.priority", "data.priority must be high or normal")
	}
	if d.TTL != nil && (*d.TTL < 0 || *d.TTL > maxTTL) {
		c.wrong("data.ttl", "data.ttl must be 0 to %d seconds", maxTTL)
	}
	c.url("data.callback_url", d.CallbackURL, false)
}

func (c *checker) whatsApp(data []byte) {
	var d task.WhatsApp
	if !c.decode(data, &d) {
		return
	}
	c.contact(d.Contact, d.CountryCode)
	if d.Message == "" && d.Template == "" {
		c.wrong("data.message", "data.message or data.template must be given")
	}
	c.provider(job.WhatsApp, d.Config)
	c.sender("data.config.provider", job.WhatsApp, d.Config.Provider)
	for _, file := range d.Files {
		c.url("data.files", file, true)
	}
	c.url("data.callback_url", d.CallbackURL, false)
}
