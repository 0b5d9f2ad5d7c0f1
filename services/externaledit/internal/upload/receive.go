package upload

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"runtime/debug"
	"strings"
	"time"

	"github.com/labplatform/labplatform/pkg/apperr"
	"github.com/labplatform/labplatform/services/externaledit/document"
	"github.com/labplatform/labplatform/services/externaledit/internal/session"
)

// Form is the multipart form of a save.
type Form interface {
	// Next returns the next part, or io.EOF after the last. It ends the body of the previous part.
	Next() (Part, error)
}

// Part is one part of the form. A part without a file name is a plain value.
type Part struct {
	Field, FileName, ContentType string
	Body                         io.Reader
}

var errUnexpected = apperr.New(apperr.Invalid, "FILE_UNEXPECTED",
	"the form has a file that is neither word_file nor pdf_file; send these two and nothing else")

// reception holds the state of a save while its files arrive.
type reception struct {
	*saving
	ctx       context.Context // cancelled, with the reason, when the Word document is rejected or cannot be stored
	refuse    context.CancelCauseFunc
	arrived   map[string]bool // by form field
	word, pdf session.Stored
	facts     document.Facts
	tracked   bool          // the form allows tracked changes
	wordDone  chan struct{} // closed when the Word document was stored and checked; nil before it arrives
}

// receive stores and checks both files. The PDF is checked while it arrives. The Word document, which has its directory
// at the end, is checked once it is stored. This check, and the sync to disk, run while the PDF arrives.
func (s *saving) receive(ctx context.Context, form Form) (word, pdf session.Stored, err error) {
	r := &reception{saving: s, arrived: map[string]bool{}}
	r.ctx, r.refuse = context.WithCancelCause(ctx)
	defer r.refuse(nil)
	go r.touch()
	err = r.all(form)
	if r.wordDone != nil {
		if err != nil {
			r.refuse(err)
		}
		<-r.wordDone
	}
	if refused := context.Cause(r.ctx); refused != nil && ctx.Err() == nil {
		err = refused
	}
	if err == nil {
		err = r.judge()
	}
	return r.word, r.pdf, err
}

var (
	errOtherReport = apperr.New(apperr.Conflict, "DOCUMENT_OF_ANOTHER_REPORT",
		"word_file: the Word document is that of another report; open the document of this report and bring your changes"+
			" into it").WithDetails("DOCUMENT_OF_ANOTHER_REPORT")
	errTracked = apperr.New(apperr.Conflict, "TRACKED_CHANGES",
		"word_file: the Word document has changes that are neither accepted nor rejected; accept or reject them and save"+
			" again, or send allow_tracked_changes=true with a PDF that shows what is meant").WithDetails("TRACKED_CHANGES")
)

// judge rejects a valid document that does not belong to this report or has tracked changes that the form does not
// allow.
func (r *reception) judge() error {
	switch {
	case r.facts.ReportID != 0 && r.facts.ReportID != r.reportID:
		return errOtherReport
	case r.facts.Tracked && !r.tracked:
		return errTracked
	}
	return nil
}

// touchEvery is how often a slow upload records its progress for the sweeper.
const touchEvery = 30 * time.Second

func (r *reception) touch() {
	ticker := time.NewTicker(touchEvery)
	defer ticker.Stop()
	for {
		select {
		case <-r.ctx.Done():
			return
		case <-ticker.C:
			_ = r.d.Reports.Touch(r.ctx, r.scope, r.upload.ID) // the next tick tries again
		}
	}
}

func (r *reception) all(form Form) error {
	for {
		part, err := form.Next()
		if errors.Is(err, io.EOF) {
			return r.complete()
		}
		if err != nil {
			return err
		}
		if err := r.part(part); err != nil {
			return err
		}
	}
}

func (r *reception) complete() error {
	for _, kind := range []document.Kind{document.Word, document.PDF} {
		if !r.arrived[kind.Field] {
			return kind.Missing()
		}
	}
	return nil
}

func (r *reception) part(p Part) error {
	kind, known := document.KindOf(p.Field)
	switch {
	case !known && p.FileName != "":
		return errUnexpected
	case p.Field == trackedField:
		return r.allowTracked(p.Body)
	case !known: // another plain value of the form is ignored
		return skip(p.Body)
	}
	if r.arrived[kind.Field] {
		return kind.Repeated()
	}
	if err := kind.CheckName(p.FileName); err != nil {
		return err
	}
	if err := kind.CheckContentType(p.ContentType); err != nil {
		return err
	}
	return r.file(kind, p.Body)
}

// trackedField is the form field that allows tracked changes.
const trackedField = "allow_tracked_changes"

func (r *reception) allowTracked(body io.Reader) error {
	const longest = 8
	text, err := io.ReadAll(io.LimitReader(body, longest))
	if err != nil {
		return err
	}
	switch strings.TrimSpace(string(text)) {
	case "true", "True", "1": // the texts of a flag in every request
		r.tracked = true
	case "false", "False", "0", "":
		r.tracked = false
	default:
		return apperr.InvalidField(trackedField, trackedField+" must be true or false")
	}
	return nil
}

const maxValue = 64 << 10 // maximum bytes of a plain value

func skip(body io.Reader) error {
	n, err := io.Copy(io.Discard, io.LimitReader(body, maxValue+1))
	if err == nil && n > maxValue {
		return apperr.New(apperr.Invalid, "VALUE_TOO_LARGE",
			"the form has a value of more than 64 KiB; send word_file and pdf_file alone")
	}
	return err
}

func (r *reception) file(kind document.Kind, body io.Reader) error {
	source := bufio.NewReaderSize(&limited{r: body, left: kind.MaxBytes, tooLarge: kind.TooLarge, ended: r.ctx},
		document.HeadBytes)
	head, err := source.Peek(document.HeadBytes)
	if err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	if err := kind.CheckHead(head); err != nil {
		return err
	}
	r.arrived[kind.Field] = true
	if kind.Field == document.Word.Field {
		return r.takeWord(source)
	}
	return r.storePDF(source)
}

func (r *reception) storePDF(source io.Reader) (err error) {
	scanner := &document.PDFScanner{}
	if r.pdf, err = r.store(document.PDF, r.upload.PDFKey, io.TeeReader(source, scanner)); err != nil {
		return err
	}
	return scanner.Finish()
}

// takeWord stores and checks the document in another goroutine. It returns once the whole document was read or was
// rejected.
func (r *reception) takeWord(source io.Reader) error {
	read := make(chan struct{})
	r.wordDone = make(chan struct{})
	go func() {
		defer close(r.wordDone)
		defer r.recovered()
		if err := r.storeWord(&once{Reader: source, ended: func() { close(read) }}); err != nil {
			r.refuse(err)
		}
	}()
	select {
	case <-read:
		return nil
	case <-r.wordDone:
		return context.Cause(r.ctx)
	}
}

// recovered turns a panic of the check into an error. The server's own recovery does not cover this goroutine, and a
// panic would end the other uploads of the process.
func (r *reception) recovered() {
	if p := recover(); p != nil {
		r.refuse(fmt.Errorf("panic of type %T while a Word document was stored or checked: %s", p, debug.Stack()))
	}
}

func (r *reception) storeWord(source io.Reader) (err error) {
	if r.word, err = r.store(document.Word, r.upload.WordKey, source); err != nil {
		return err
	}
	size := r.word.Size
	r.facts, err = document.ReadWord(newStoredFile(r.ctx, r.d.Files, r.scope, r.upload.WordKey, size), size)
	return err
}

// once calls ended at the end of its reader and never reads from it again, because the following bytes belong to
// another part.
type once struct {
	io.Reader
	ended func()
	done  bool
}

var _ io.Reader = (*once)(nil)

func (o *once) Read(p []byte) (int, error) {
	if o.done {
		return 0, io.EOF
	}
	n, err := o.Reader.Read(p)
	o.done = errors.Is(err, io.EOF)
	if o.done {
		o.ended()
	}
	return n, err
}

func (r *reception) store(kind document.Kind, key string, source io.Reader) (session.Stored, error) {
	sum := sha256.New()
	size, err := r.d.Files.Put(r.ctx, r.scope, key, kind.ContentType, io.TeeReader(source, sum))
	if err != nil {
		return session.Stored{}, err
	}
	r.d.Counters.Received(kind.Field, size)
	return session.Stored{URL: r.d.Files.URL(key), SHA256: digest(sum), Size: size}, nil
}

func digest(h hash.Hash) string { return hex.EncodeToString(h.Sum(nil)) }

// limited reads at most left bytes. It returns an error beyond that, or once ended is cancelled.
type limited struct {
	r        io.Reader
	left     int64
	tooLarge func() error
	ended    context.Context
}

var _ io.Reader = (*limited)(nil)

func (l *limited) Read(p []byte) (int, error) {
	if err := context.Cause(l.ended); err != nil {
		return 0, err
	}
	if int64(len(p)) > l.left+1 {
		p = p[:l.left+1]
	}
	n, err := l.r.Read(p)
	l.left -= int64(n)
	if l.left < 0 {
		return 0, l.tooLarge()
	}
	return n, err
}
