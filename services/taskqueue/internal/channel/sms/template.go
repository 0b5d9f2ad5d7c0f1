package sms

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"text/template"

	"golang.org/x/net/http/httpguts"

	"github.com/labplatform/labplatform/pkg/netguard"
	"github.com/labplatform/labplatform/services/taskqueue/internal/channel/provider"
)

// requestTemplate makes the request of a message.
type requestTemplate struct {
	method  string
	url     *template.Template
	headers map[string]*template.Template
	body    *template.Template
}

func newRequestTemplate(s *GatewaySettings, secrets provider.Secrets) (*requestTemplate, error) {
	if !regexp.MustCompile(`^https?://[^/{}?#]+[/?]`).MatchString(s.URL + "/") {
		return nil, errors.New("url must begin with https:// and a host without templates")
	}
	r := &requestTemplate{method: s.Method, headers: map[string]*template.Template{}}
	parse := func(name, text string) (*template.Template, error) {
		t, err := template.New(name).Option("missingkey=error").Funcs(functions(secrets)).Parse(text)
		if err != nil {
			return nil, fmt.Errorf("template: %w", err)
		}
		return t, nil
	}
	var problems []error
	keep := func(t *template.Template, err error) *template.Template {
		problems = append(problems, err)
		return t
	}
	r.url, r.body = keep(parse("url", s.URL)), keep(parse("body", s.Body))
	for name, text := range s.Headers {
		if !httpguts.ValidHeaderFieldName(name) {
			problems = append(problems, fmt.Errorf("header name %q is not valid", name))
			continue
		}
		r.headers[name] = keep(parse(name, text))
	}
	return r, errors.Join(problems...)
}

func functions(secrets provider.Secrets) template.FuncMap {
	return template.FuncMap{
		"json": func(v any) (string, error) {
			raw, err := json.Marshal(v)
			return string(raw), err
		},
		"query": func(v any) string { return url.QueryEscape(fmt.Sprint(v)) },
		"path":  func(v any) string { return url.PathEscape(fmt.Sprint(v)) },
		"secret": func(name string) (string, error) {
			s, err := secrets.Secret(name)
			return s.Reveal(), err
		},
	}
}

// render makes the request. Its errors never leave the process: they may hold the message.
func (r *requestTemplate) render(m Message) (netguard.Request, error) {
	q := netguard.Request{Method: r.method, Header: http.Header{}}
	text, err := execute(r.url, m)
	if err != nil {
		return q, err
	}
	if q.URL, err = url.Parse(text); err != nil {
		return q, errors.New("the url is not valid")
	}
	for name, t := range r.headers {
		value, err := execute(t, m)
		if err != nil {
			return q, err
		}
		if !httpguts.ValidHeaderFieldValue(value) {
			return q, fmt.Errorf("header %s holds characters that HTTP does not allow", name)
		}
		q.Header.Set(name, value)
	}
	body, err := execute(r.body, m)
	if err != nil {
		return q, err
	}
	q.Body = []byte(body)
	if body != "" && q.Header.Get("Content-Type") == "" {
		q.Header.Set("Content-Type", "application/json")
	}
	if r.method == http.MethodGet { // a kept connection that dies would make the transport send a GET again
		q.Header.Set("Connection", "close")
	}
	return q, nil
}

func execute(t *template.Template, m Message) (string, error) {
	var text bytes.Buffer
	if err := t.Execute(&text, m); err != nil {
		return "", fmt.Errorf("template: %w", err)
	}
	return text.String(), nil
}

// rehearse renders a message that breaks out of every place where an escape was forgotten.
func (r *requestTemplate) rehearse() error {
	const nasty = "a&injected=1#\"}\\\n%zz é"
	q, err := r.render(
		Message{
			To:       "+919812345678",
			Digits:   "919812345678",
			Country:  "91",
			Number:   "9812345678",
			Message:  nasty,
			Sender:   nasty,
			OTP:      "123456",
			Type:     "OTP",
			JobID:    "00",
			Alphabet: "UCS-2",
			Unicode:  true,
			Units:    1,
			Parts:    1,
		},
	)
	if err != nil {
		return fmt.Errorf("%w: escape .Message and .Sender with json, query or path", err)
	}
	values, err := url.ParseQuery(q.URL.RawQuery)
	if err != nil || values.Has("injected") || q.URL.Fragment != "" {
		return errors.New("url: escape .Message and .Sender with query or path")
	}
	kind := q.Header.Get("Content-Type")
	switch {
	case len(q.Body) == 0:
	case strings.Contains(kind, "json") && !json.Valid(q.Body):
		return errors.New("body is not JSON: write {{json .Message}} without quotes around it")
	case strings.Contains(kind, "x-www-form-urlencoded"):
		if values, err := url.ParseQuery(string(q.Body)); err != nil || values.Has("injected") {
			return errors.New("body: escape every value with query")
		}
	}
	return nil
}

// lookup finds the scalar at a path of member names and indices in a JSON text; "" when there is none.
func lookup(raw []byte, at string) string {
	if at == "" {
		return ""
	}
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.UseNumber()
	var value any
	if decoder.Decode(&value) != nil {
		return ""
	}
	for _, step := range strings.Split(at, ".") {
		switch v := value.(type) {
		case map[string]any:
			value = v[step]
		case []any:
			i, err := strconv.Atoi(step)
			if err != nil || i < 0 || i >= len(v) {
				return ""
			}
			value = v[i]
		default:
			return ""
		}
	}
	switch v := value.(type) {
	case string, json.Number, bool:
		return fmt.Sprint(v)
	}
	return ""
}
