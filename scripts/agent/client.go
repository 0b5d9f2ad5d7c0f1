package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime/multipart"
	"net"
	"net/http"
	"net/textproto"
	"os"
	"strconv"
	"time"

	"github.com/labplatform/labplatform/services/externaledit/document"
)

const (
	prefix      = "/api-v3/report/external-edit"
	callTimeout = 15 * time.Second
	// uploadTimeout is enough for the largest files on a slow line.
	uploadTimeout = 30 * time.Minute
)

// client calls the documented REST paths with the user's session cookie or bearer token.
type client struct {
	base, session, bearer string
	http                  *http.Client
	warn                  func(text string) // called for each warning of a response; nil ignores them
}

// Timeouts for a platform that does not respond. The response to an upload arrives once both files are stored, for
// which the platform has at most two minutes.
const (
	dialTimeout   = 10 * time.Second
	headerTimeout = 3 * time.Minute
	maxAnswer     = 1 << 20
)

// newHTTPClient returns a client with timeouts for connections and response headers; each call has a deadline of its
// own.
func newHTTPClient() *http.Client {
	return &http.Client{Transport: &http.Transport{
		Proxy:                 http.ProxyFromEnvironment,
		DialContext:           (&net.Dialer{Timeout: dialTimeout}).DialContext,
		TLSHandshakeTimeout:   dialTimeout,
		ResponseHeaderTimeout: headerTimeout,
		ExpectContinueTimeout: time.Second,
		IdleConnTimeout:       time.Minute,
		ForceAttemptHTTP2:     true,
	}}
}

// problem is a response with a status other than 200.
type problem struct {
	Code       int    `json:"code"`
	Message    string `json:"message"`
	Details    string `json:"details"`
	retryAfter time.Duration
}

func (p *problem) Error() string {
	if p.Details == "" || p.Details == p.Message {
		return fmt.Sprintf("%d %s", p.Code, sentence(p.Message))
	}
	return fmt.Sprintf("%d %s: %s", p.Code, sentence(p.Message), p.Details)
}

// refused reports whether the response means that the session has ended.
func refused(err error) bool {
	return isCode(err, http.StatusForbidden) || isCode(err, http.StatusNotFound)
}

// patience returns how long to wait before the same request is repeated, or false when repeating it would not help. An
// expired token is replaced by the next heartbeat.
func patience(err error, pause time.Duration) (time.Duration, bool) {
	var p *problem
	var own *unfit
	if errors.As(err, &own) {
		return 0, false
	}
	if !errors.As(err, &p) { // no response
		return pause, true
	}
	if p.Code == http.StatusTooManyRequests || p.Code == http.StatusUnauthorized ||
		p.Code >= http.StatusInternalServerError {
		return max(p.retryAfter, pause), true
	}
	return 0, false
}

func isCode(err error, code int) bool {
	var p *problem
	return errors.As(err, &p) && p.Code == code
}

type creation struct {
	TemplateID int64  `json:"template_id"`
	Path       string `json:"word_s3_filepath"`
	TakeOver   bool   `json:"take_over,omitempty"`
}

type opened struct {
	EditID   int64  `json:"edit_id"`
	Token    string `json:"auth_token"`
	Template string `json:"template_path"`
}

func (c client) create(ctx context.Context, report int64, key string, in creation) (out opened, err error) {
	body, err := json.Marshal(in)
	if err != nil {
		return out, err
	}
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	header := http.Header{"Content-Type": {"application/json"}, "Idempotency-Key": {key}}
	err = c.call(ctx, http.MethodPost, fmt.Sprintf("/%d", report), "", header, bytes.NewReader(body), &out)
	return out, err
}

// revision is a save of the report.
type revision struct {
	EditID       int64  `json:"edit_id"`
	Word         string `json:"word_file_path"`
	Link         string `json:"word_url"`
	RestoredFrom int64  `json:"restored_from"`
	IsCurrent    bool   `json:"is_current"`
}

// wordTemplate is a template for a new document.
type wordTemplate struct {
	ID   int64  `json:"id"`
	Name string `json:"name"`
	Path string `json:"word_s3_filepath"`
}

// templates returns the templates of the laboratory and of the platform.
func (c client) templates(ctx context.Context) ([]wordTemplate, error) {
	var out struct {
		Templates []wordTemplate `json:"templates"`
	}
	err := c.into(ctx, http.MethodGet, "/templates", "", &out)
	return out.Templates, err
}

// ownSession is the user's active session. Word is its newest save, or before the first save the file that it began
// with.
type ownSession struct {
	Word  string `json:"word_file_path"`
	Token string `json:"auth_token"` // only its author gets one
}

// own returns the report's active session if it is the user's, else nil.
func (c client) own(ctx context.Context, report int64) (*ownSession, error) {
	var out ownSession
	err := c.into(ctx, http.MethodGet, fmt.Sprintf("/%d", report), "", &out)
	if isCode(err, http.StatusNotFound) || (err == nil && out.Token == "") {
		return nil, nil
	}
	return &out, err
}

// errOtherFiles means that the report shows files which no listed save has, so that the agent does not know what it
// would replace.
var errOtherFiles = errors.New("the report's files are none of its saves, another program has put them there; " +
	"restore a save, then start again")

// current returns the save that the report shows, nil before the first.
func (c client) current(ctx context.Context, report int64, token string) (*revision, error) {
	var out struct {
		Revisions []revision `json:"revisions"`
	}
	if err := c.into(ctx, http.MethodGet, fmt.Sprintf("/%d/revisions", report), token, &out); err != nil {
		return nil, err
	}
	for _, r := range out.Revisions {
		if r.IsCurrent {
			return &r, nil
		}
	}
	if len(out.Revisions) > 0 {
		return nil, errOtherFiles
	}
	return nil, nil
}

func (c client) heartbeat(ctx context.Context, id int64, token string) (string, error) {
	var out opened
	err := c.into(ctx, http.MethodPost, fmt.Sprintf("/agent/%d/heartbeat", id), token, &out)
	return out.Token, err
}

func (c client) end(ctx context.Context, id int64, token string) error {
	var out struct{}
	return c.into(ctx, http.MethodPut, fmt.Sprintf("/%d", id), token, &out)
}

func (c client) into(ctx context.Context, method, path, token string, out any) error {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	return c.call(ctx, method, path, token, http.Header{}, nil, out)
}

// call sends a request with the session's token, or with the user's credential when token is empty.
func (c client) call(
	ctx context.Context, method, path, token string, header http.Header, body io.Reader, out any,
) error {
	request, err := http.NewRequestWithContext(ctx, method, c.base+prefix+path, body)
	if err != nil {
		return err
	}
	request.Header = header
	request.Header.Set("X-IS-EXTERNAL-EDIT-REQUEST", "true")
	switch {
	case token != "":
		request.Header.Set("Authorization", "Bearer "+token)
	case c.bearer != "":
		request.Header.Set("Authorization", "Bearer "+c.bearer)
	default:
		request.Header.Set("Cookie", "sessionid="+c.session)
	}
	response, err := c.http.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return problemOf(response)
	}
	var text bytes.Buffer
	err = json.NewDecoder(io.TeeReader(io.LimitReader(response.Body, maxAnswer), &text)).Decode(out)
	if err == nil {
		c.passWarnings(text.Bytes())
	}
	return err
}

func (c client) passWarnings(response []byte) {
	var found struct {
		Warnings []string `json:"warnings"`
	}
	if c.warn == nil || json.Unmarshal(response, &found) != nil {
		return
	}
	for _, text := range found.Warnings {
		c.warn(text)
	}
}

func problemOf(response *http.Response) error {
	p := &problem{}
	const most = 64 << 10
	text, _ := io.ReadAll(io.LimitReader(response.Body, most))
	if json.Unmarshal(text, p) != nil || p.Message == "" {
		p.Message = http.StatusText(response.StatusCode)
	}
	p.Code = response.StatusCode
	if seconds, err := strconv.Atoi(response.Header.Get("Retry-After")); err == nil {
		p.retryAfter = time.Duration(seconds) * time.Second
	}
	return p
}

// files holds the paths of a save's files. tracked is set when the document has changes that are neither accepted nor
// rejected.
type files struct {
	word, pdf string
	tracked   bool
}

// upload sends both files and returns the storage path of the Word document.
func (c client) upload(ctx context.Context, id int64, token string, f files) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, uploadTimeout)
	defer cancel()
	reader, writer := io.Pipe()
	form := multipart.NewWriter(writer)
	go func() {
		var allowed error
		if f.tracked {
			allowed = form.WriteField("allow_tracked_changes", "true")
		}
		err := errors.Join(allowed, addFile(form, document.Word, f.word), addFile(form, document.PDF, f.pdf))
		_ = writer.CloseWithError(errors.Join(err, form.Close()))
	}()
	defer func() { _ = reader.Close() }() // stops the goroutine that writes the form
	var out struct {
		Word string `json:"word_s3_path"`
	}
	header := http.Header{"Content-Type": {form.FormDataContentType()}}
	err := c.call(ctx, http.MethodPost, fmt.Sprintf("/agent/%d", id), token, header, reader, &out)
	return out.Word, err
}

func addFile(form *multipart.Writer, kind document.Kind, path string) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	header := textproto.MIMEHeader{}
	header.Set("Content-Disposition", fmt.Sprintf(`form-data; name=%q; filename=%q`, kind.Field, kind.FileName))
	header.Set("Content-Type", kind.ContentType)
	part, err := form.CreatePart(header)
	if err != nil {
		return err
	}
	_, err = io.Copy(part, file)
	return err
}
