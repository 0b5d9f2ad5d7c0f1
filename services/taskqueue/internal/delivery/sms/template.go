package sms

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"text/template"

	"golang.org/x/net/http/httpguts"

	"github.com/labplatform/labplatform/pkg/netguard"
	"github.com/labplatform/labplatform/services/taskqueue/internal/delivery/provider"
	"github.com/labplatform/labplatform/services/taskqueue/internal/job"
	"github.com/labplatform/labplatform/services/taskqueue/internal/phone"
	"github.com/labplatform/labplatform/services/taskqueue/internal/task"
	"github.com/labplatform/labplatform/services/taskqueue/internal/worker"
)

// requestTemplate renders the request for a message.
type requestTemplate struct {
	settings *GatewaySettings
	texts    *template.Template // templates url and body, and one per header, named by the header
}

// Names of templates. They contain a space, so that they differ from all header names.
const (
	urlText  = "the url"
	bodyText = "the body"
)

func newRequestTemplate(s *GatewaySettings, secrets provider.Directory) (*requestTemplate, error) {
	if !regexp.MustCompile(`^https?://[^/{}?#]+[/?]`).MatchString(s.URL + "/") {
		return nil, errors.New("url must begin with https:// and a host without templates")
	}
	r := &requestTemplate{settings: s, texts: template.New("").Option("missingkey=error").Funcs(functions(secrets))}
	problems := []error{r.parse(urlText, s.URL), r.parse(bodyText, s.Body)}
	for name, text := range s.Headers {
		if !httpguts.ValidHeaderFieldName(name) {
			problems = append(problems, fmt.Errorf("header name %q is not valid", name))
			continue
		}
		problems = append(problems, r.parse(name, text))
	}
	return r, errors.Join(problems...)
}

func (r *requestTemplate) parse(name, text string) error {
	if _, err := r.texts.New(name).Parse(text); err != nil {
		return fmt.Errorf("template: %w", err)
	}
	return nil
}

// errSecret is the error of a template whose secret cannot be read.
var errSecret = errors.New("a secret cannot be read")

func functions(secrets provider.Directory) template.FuncMap {
	return template.FuncMap{
		"json": func(v any) (string, error) {
			raw, err := json.Marshal(v)
			return string(raw), err
		},
		"query": func(v any) string { return url.QueryEscape(fmt.Sprint(v)) },
		"path":  func(v any) string { return url.PathEscape(fmt.Sprint(v)) },
		"secret": func(name string) (string, error) {
			s, err := secrets.Secret(name)
			if err != nil {
				return "", fmt.Errorf("%w: %w", errSecret, err)
			}
			return s.Reveal(), nil
		},
	}
}

// request renders the request for a message. Template errors are not returned, because their texts may contain the
// message.
func (r *requestTemplate) request(m *Message) (netguard.Request, error) {
	q, err := r.render(m)
	switch {
	case errors.Is(err, errSecret):
		return q, provider.NoSecret("The provider's secret cannot be read")
	case err != nil:
		return q, provider.FailOverOne("template", "The request to the provider cannot be built from its template")
	case len(q.URL.String()) > netguard.MaxURLLength:
		return q, provider.FailOverOne("too_long", "The message is too long for the URL of a request to the provider")
	}
	return q, nil
}

func (r *requestTemplate) render(m *Message) (netguard.Request, error) {
	q := netguard.Request{
		Method:  r.settings.Method,
		Header:  http.Header{},
		Timeout: provider.Timeout(r.settings.TimeoutSeconds, defaultTimeout, maxTimeout),
	}
	address, err := r.text(urlText, m)
	if err != nil {
		return q, err
	}
	if q.URL, err = url.Parse(address); err != nil {
		return q, errors.New("the url is not valid")
	}
	for name := range r.settings.Headers {
		value, err := r.text(name, m)
		if err != nil {
			return q, err
		}
		if !httpguts.ValidHeaderFieldValue(value) {
			return q, fmt.Errorf("header %s holds characters that HTTP does not allow", name)
		}
		q.Header.Set(name, value)
	}
	body, err := r.text(bodyText, m)
	if err != nil {
		return q, err
	}
	q.Body = []byte(body)
	if body != "" && q.Header.Get("Content-Type") == "" {
		q.Header.Set("Content-Type", "application/json")
	}
	return q, nil
}

func (r *requestTemplate) text(name string, m *Message) (string, error) {
	var text strings.Builder
	if err := r.texts.ExecuteTemplate(&text, name, m); err != nil {
		return "", fmt.Errorf("template: %w", err)
	}
	return text.String(), nil
}

// rehearse renders a message with special characters, and returns an error if an escape function is missing or
// check refuses the URL.
func (r *requestTemplate) rehearse(check func(*url.URL) error) error {
	const nasty = "a&injected=1#\"}\\\n%zz é"
	data := task.SMS{Recipient: task.Recipient{Contact: "9812345678"}, Message: nasty, SenderID: nasty, OTP: "123456"}
	m := messageOf(worker.Delivery{ID: "00", Body: &job.Body{Task: 1, TaskType: 1}}, &data,
		phone.Number{Country: 91, Digits: "919812345678"}, "")
	q, err := r.render(&m)
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
	if err := check(q.URL); err != nil {
		return fmt.Errorf("url: %w", err)
	}
	return nil
}
