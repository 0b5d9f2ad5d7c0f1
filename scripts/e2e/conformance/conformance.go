// Package conformance compares the requests and responses of the black-box tests with the API document. Every response
// of a documented operation must have a documented status and body, and every body that a service accepted must be
// documented.
package conformance

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"mime"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"
	"github.com/getkin/kin-openapi/routers/legacy"

	"github.com/labplatform/labplatform/proto/openapi"
)

// Tolerated is a request header that excludes the body from the comparison: services accept forms that the document
// does not offer, such as flags as text and unknown names. The header is not sent.
const Tolerated = "X-Test-Tolerated"

// Recorder is an HTTP transport that collects the differences between requests, responses and the API document. It is
// safe for concurrent use.
type Recorder struct {
	next   http.RoundTripper
	router routers.Router

	mu       sync.Mutex
	findings map[string]int // number of times, by text; guarded by mu
	answers  map[string]int // number of responses by operation and status; guarded by mu
}

var _ http.RoundTripper = (*Recorder)(nil)

// Wrap returns a transport that sends requests with next and compares them. It returns every response unchanged, also
// one that differs from the document.
func Wrap(next http.RoundTripper) (*Recorder, error) {
	document, err := openapi3.NewLoader().LoadFromData(openapi.Document)
	if err != nil {
		return nil, fmt.Errorf("conformance: read the API document: %w", err)
	}
	router, err := legacy.NewRouter(document)
	if err != nil {
		return nil, fmt.Errorf("conformance: routes of the API document: %w", err)
	}
	return &Recorder{next: next, router: router, findings: map[string]int{}, answers: map[string]int{}}, nil
}

func (r *Recorder) RoundTrip(request *http.Request) (*http.Response, error) {
	tolerated := request.Header.Get(Tolerated) != ""
	request.Header.Del(Tolerated)
	sent, err := bodyOf(request)
	if err != nil {
		return nil, err
	}
	response, err := r.next.RoundTrip(request)
	if err != nil {
		return nil, err
	}
	input, ok := r.documented(request, sent)
	if !ok {
		return response, nil
	}
	if err := r.compareAnswer(input, response); err != nil {
		return nil, err
	}
	if response.StatusCode < 300 && !tolerated {
		r.compareRequest(input)
	}
	return response, nil
}

// bodyOf returns a copy of the body, which can still be sent. It returns nil for a body that is streamed.
func bodyOf(request *http.Request) ([]byte, error) {
	if request.GetBody == nil {
		return nil, nil
	}
	body, err := request.GetBody()
	if err != nil {
		return nil, err
	}
	defer body.Close()
	return io.ReadAll(body)
}

// documented returns the operation of a request; ok is false if the document has none. The document's paths have no
// trailing slash.
func (r *Recorder) documented(request *http.Request, sent []byte) (*openapi3filter.RequestValidationInput, bool) {
	copied := request.Clone(context.WithoutCancel(request.Context()))
	copied.URL.Path = strings.TrimSuffix(copied.URL.Path, "/")
	copied.URL.RawPath = ""
	copied.URL.Scheme, copied.URL.Host, copied.Host = "", "", ""
	copied.Body = io.NopCloser(bytes.NewReader(sent))
	route, params, err := r.router.FindRoute(copied)
	if err != nil {
		return nil, false
	}
	return &openapi3filter.RequestValidationInput{
		Request:    copied,
		PathParams: params,
		Route:      route,
		Options: &openapi3filter.Options{
			AuthenticationFunc:  openapi3filter.NoopAuthenticationFunc,
			SkipSettingDefaults: true,
		},
	}, true
}

func (r *Recorder) compareAnswer(input *openapi3filter.RequestValidationInput, response *http.Response) error {
	r.count(r.answers, fmt.Sprintf("%s %d", input.Route.Operation.OperationID, response.StatusCode))
	options := &openapi3filter.Options{IncludeResponseStatus: true, ExcludeResponseBody: true}
	answer := &openapi3filter.ResponseValidationInput{RequestValidationInput: input, Status: response.StatusCode,
		Header: response.Header, Options: options}
	if kind, _, _ := mime.ParseMediaType(response.Header.Get("Content-Type")); kind == "application/json" {
		body, err := io.ReadAll(response.Body)
		response.Body.Close()
		if err != nil {
			return err
		}
		response.Body = io.NopCloser(bytes.NewReader(body))
		options.ExcludeResponseBody = false
		answer.SetBodyBytes(body)
	}
	if response.StatusCode == http.StatusMethodNotAllowed {
		return nil // 405 belongs to a path, not to an operation
	}
	r.note(input, response.StatusCode, "the answer", openapi3filter.ValidateResponse(context.Background(), answer))
	return nil
}

// compareRequest compares a body that a service accepted with the document. Uploads are not compared.
func (r *Recorder) compareRequest(input *openapi3filter.RequestValidationInput) {
	kind, _, _ := mime.ParseMediaType(input.Request.Header.Get("Content-Type"))
	if kind == "multipart/form-data" || input.Route.Operation.RequestBody == nil {
		return
	}
	r.note(input, 0, "an accepted body", openapi3filter.ValidateRequestBody(context.Background(), input,
		input.Route.Operation.RequestBody.Value))
}

func (r *Recorder) note(input *openapi3filter.RequestValidationInput, status int, what string, err error) {
	if err == nil {
		return
	}
	text := err.Error()
	if cut := strings.Index(text, "\nSchema:"); cut > 0 {
		text = text[:cut]
	}
	r.count(r.findings, fmt.Sprintf("%s %s (%s): %s is not as documented: %.400s", input.Request.Method, input.Route.Path,
		fmt.Sprint(status), what, text))
}

func (r *Recorder) count(in map[string]int, key string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	in[key]++
}

// Report writes the differences and returns the exit code of the tests: 1 if there is a difference, otherwise 0.
func (r *Recorder) Report(out io.Writer) int {
	findings, answers := r.sorted(r.findings), r.sorted(r.answers)
	for _, finding := range findings {
		fmt.Fprintln(out, "differs from the API document:", finding)
	}
	fmt.Fprintf(
		out,
		"%d operations and statuses compared with the API document, %d differences\n",
		len(answers),
		len(findings),
	)
	return min(len(findings), 1)
}

func (r *Recorder) sorted(of map[string]int) []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	lines := make([]string, 0, len(of))
	for key, times := range of {
		lines = append(lines, fmt.Sprintf("%s (%d times)", key, times))
	}
	slices.Sort(lines)
	return lines
}
