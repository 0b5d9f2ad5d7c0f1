package rendered

import (
	"encoding/json"
	"fmt"

	"github.com/labplatform/labplatform/services/taskqueue/internal/job"
	"github.com/labplatform/labplatform/services/taskqueue/internal/outbox"
	"github.com/labplatform/labplatform/services/taskqueue/internal/task"
)

// The shape of FCM's HTTP v1 message, as far as the documented payload fills it.
type fcmEnvelope struct {
	Message fcmMessage `json:"message"`
}

type fcmMessage struct {
	Token        string            `json:"token,omitempty"`
	Topic        string            `json:"topic,omitempty"`
	Notification *fcmNotification  `json:"notification,omitempty"`
	Data         map[string]string `json:"data,omitempty"`
	Android      *fcmAndroid       `json:"android,omitempty"`
}

type fcmNotification struct {
	Title string `json:"title,omitempty"`
	Body  string `json:"body,omitempty"`
	Image string `json:"image,omitempty"`
}

type fcmAndroid struct {
	Priority     string       `json:"priority,omitempty"`
	TTL          string       `json:"ttl,omitempty"`
	CollapseKey  string       `json:"collapse_key,omitempty"`
	Notification *fcmClickTap `json:"notification,omitempty"`
}

type fcmClickTap struct {
	ClickAction string `json:"click_action,omitempty"`
}

func renderPush(data []byte) (outbox.Message, error) {
	var d task.Push
	if err := json.Unmarshal(data, &d); err != nil {
		return outbox.Message{}, err
	}
	m := fcmMessage{Topic: d.Topic, Data: d.Data}
	if d.Title != "" || d.Body != "" || d.Image != "" {
		m.Notification = &fcmNotification{Title: d.Title, Body: d.Body, Image: d.Image}
	}
	m.Android = androidOf(d)
	to, title := d.Tokens, d.Title
	if d.Topic != "" {
		to = []string{"topic:" + d.Topic}
	} else {
		m.Token = d.Tokens[0]
	}
	body, err := json.Marshal(fcmEnvelope{Message: m})
	out := outbox.Message{To: to, Title: title, Body: string(body), Format: "json"}
	if len(d.Tokens) > 1 {
		out.Notes = append(out.Notes, fmt.Sprintf("sent once per token: %d requests, the first is shown", len(d.Tokens)))
	}
	return out, err
}

func androidOf(d task.Push) *fcmAndroid {
	a := fcmAndroid{Priority: d.Priority, CollapseKey: d.CollapseKey}
	if d.TTL != nil {
		a.TTL = fmt.Sprintf("%ds", *d.TTL)
	}
	if d.ClickAction != "" {
		a.Notification = &fcmClickTap{ClickAction: d.ClickAction}
	}
	if a == (fcmAndroid{}) {
		return nil
	}
	return &a
}

// The shape of the WhatsApp Cloud API's messages.
type whatsAppMessage struct {
	Product  string            `json:"messaging_product"`
	To       string            `json:"to"`
	Type     string            `json:"type"`
	Text     *whatsAppText     `json:"text,omitempty"`
	Template *whatsAppTemplate `json:"template,omitempty"`
	Opaque   string            `json:"biz_opaque_callback_data"`
}

type whatsAppText struct {
	Body string `json:"body"`
}

type whatsAppTemplate struct {
	Name       string              `json:"name"`
	Language   whatsAppLanguage    `json:"language"`
	Components []whatsAppComponent `json:"components,omitempty"`
}

type whatsAppLanguage struct {
	Code string `json:"code"`
}

type whatsAppComponent struct {
	Type       string              `json:"type"`
	Parameters []whatsAppParameter `json:"parameters"`
}

type whatsAppParameter struct {
	Type     string        `json:"type"`
	Text     string        `json:"text,omitempty"`
	Document *whatsAppFile `json:"document,omitempty"`
}

type whatsAppFile struct {
	Link     string `json:"link"`
	Filename string `json:"filename,omitempty"`
}

func renderWhatsApp(id job.ID, data []byte) (outbox.Message, error) {
	var d task.WhatsApp
	if err := json.Unmarshal(data, &d); err != nil {
		return outbox.Message{}, err
	}
	to := international(d.CountryCode, d.Contact)
	m := whatsAppMessage{Product: "whatsapp", To: to, Type: "text", Opaque: string(id)}
	title := "WhatsApp text"
	if d.Template != "" {
		m.Type, m.Template, title = "template", templateOf(d), "WhatsApp template "+d.Template
	} else {
		m.Text = &whatsAppText{Body: d.Message}
	}
	body, err := json.Marshal(m)
	out := outbox.Message{To: []string{to}, Title: title, Body: string(body), Format: "json"}
	if d.Template == "" {
		for _, file := range d.Files {
			out.Notes = append(out.Notes, "document sent as its own message: "+file)
		}
	}
	return out, err
}

func templateOf(d task.WhatsApp) *whatsAppTemplate {
	t := &whatsAppTemplate{Name: d.Template, Language: whatsAppLanguage{Code: d.Language}}
	if t.Language.Code == "" {
		t.Language.Code = "en"
	}
	if len(d.Files) > 0 {
		file := &whatsAppFile{Link: d.Files[0], Filename: d.FileName}
		t.Components = append(t.Components, whatsAppComponent{Type: "header", Parameters: []whatsAppParameter{{Type: "document", Document: file}}})
	}
	if len(d.Params) > 0 {
		c := whatsAppComponent{Type: "body"}
		for _, p := range d.Params {
			c.Parameters = append(c.Parameters, whatsAppParameter{Type: "text", Text: p})
		}
		t.Components = append(t.Components, c)
	}
	return t
}
