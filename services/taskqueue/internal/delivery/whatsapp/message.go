package whatsapp

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/url"
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/labplatform/labplatform/services/taskqueue/internal/job"
	"github.com/labplatform/labplatform/services/taskqueue/internal/phone"
	"github.com/labplatform/labplatform/services/taskqueue/internal/task"
)

const (
	maxCaption      = 1024 // maximum length of a text sent with a file
	defaultLanguage = "en"
)

// Types of the Cloud API's messages.
type message struct {
	Product   string    `json:"messaging_product"`
	Recipient string    `json:"recipient_type"`
	To        string    `json:"to"`
	Type      string    `json:"type"`
	Text      *text     `json:"text,omitempty"`
	Template  *template `json:"template,omitempty"`
	Document  *file     `json:"document,omitempty"`
	Image     *file     `json:"image,omitempty"`
	Opaque    string    `json:"biz_opaque_callback_data"`
}

type text struct {
	Body string `json:"body"`
}

type template struct {
	Name       string      `json:"name"`
	Language   language    `json:"language"`
	Components []component `json:"components,omitempty"`
}

type language struct {
	Code string `json:"code"`
}

type component struct {
	Type       string      `json:"type"`
	Parameters []parameter `json:"parameters"`
}

type parameter struct {
	Type     string `json:"type"`
	Text     string `json:"text,omitempty"`
	Document *file  `json:"document,omitempty"`
	Image    *file  `json:"image,omitempty"`
}

type file struct {
	Link     string `json:"link"`
	Filename string `json:"filename,omitempty"`
	Caption  string `json:"caption,omitempty"`
}

// Parts returns the request bodies of a task in the order of sending. First comes a template with its first file in the
// header, or the text (as the first file's caption if it fits). Each further file is a message of its own.
func Parts(id job.ID, d *task.WhatsApp, to phone.Number) ([][]byte, error) {
	list := []message{{Type: "text", Text: &text{Body: d.Message}}}
	files, name := d.Files, d.FileName // file_name is the name of the first file
	switch {
	case d.Template != "":
		list[0] = message{Type: "template", Template: templateOf(d)}
		files, name = files[min(1, len(files)):], ""
	case len(files) > 0 && utf8.RuneCountInString(d.Message) <= maxCaption:
		list[0] = fileMessage(files[0], name, d.Message)
		files, name = files[1:], ""
	}
	for _, link := range files {
		list = append(list, fileMessage(link, name, ""))
		name = ""
	}
	parts := make([][]byte, len(list))
	for i, m := range list {
		m.Product, m.Recipient, m.To, m.Opaque = "whatsapp", "individual", to.Digits, string(id)
		var err error
		if parts[i], err = json.Marshal(m); err != nil {
			return nil, fmt.Errorf("encode the WhatsApp message: %w", err)
		}
	}
	return parts, nil
}

func templateOf(d *task.WhatsApp) *template {
	t := &template{Name: d.Template, Language: language{Code: cmp.Or(d.Language, defaultLanguage)}}
	if len(d.Files) > 0 {
		header := fileMessage(d.Files[0], d.FileName, "")
		t.Components = append(t.Components, component{Type: "header",
			Parameters: []parameter{{Type: header.Type, Document: header.Document, Image: header.Image}}})
	}
	if len(d.Params) > 0 {
		c := component{Type: "body"}
		for _, p := range d.Params {
			c.Parameters = append(c.Parameters, parameter{Type: "text", Text: p})
		}
		t.Components = append(t.Components, c)
	}
	return t
}

// fileMessage returns a message with a picture as an image, or any other file as a document with its name.
func fileMessage(link, name, caption string) message {
	f := &file{Link: link, Caption: caption}
	if isImage(link) {
		return message{Type: "image", Image: f}
	}
	f.Filename = cmp.Or(name, baseName(link))
	return message{Type: "document", Document: f}
}

func isImage(link string) bool {
	return slices.Contains([]string{".jpg", ".jpeg", ".png"}, strings.ToLower(path.Ext(baseName(link))))
}

func baseName(link string) string {
	u, err := url.Parse(link)
	if err != nil {
		return ""
	}
	if name := path.Base(u.Path); name != "." && name != "/" {
		return name
	}
	return ""
}
