package editing

import (
	"context"
	"fmt"
	"time"

	"github.com/labplatform/labplatform/pkg/apperr"
	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/pkg/idempotency"
	"github.com/labplatform/labplatform/pkg/lab/activitylog"
	"github.com/labplatform/labplatform/services/externaledit/document"
	"github.com/labplatform/labplatform/services/externaledit/internal/session"
)

// Creation is a request for a new session.
type Creation struct {
	Scope       authn.LabScope
	ReportID    int64
	TemplateID  int64
	Path        string // Word file with which to begin: a URL or a key
	Author      session.Author
	TakeOver    bool // end the active session, if there is one
	MayTakeOver bool // allowed to end another user's session
	Key         string
	Login       []byte // sealed login; nil if the author used a token
}

// Created is a new session with the data that its desktop client needs.
type Created struct {
	ID           int64
	Token        string
	TemplateLink string
	Warnings     []string // points that the author has to check in the document
}

var errTakeOverForbidden = apperr.New(apperr.Forbidden, "TAKE_OVER_NOT_ALLOWED",
	"Taking over another user's session needs the permission report_edit_takeover; ask an administrator of the laboratory")

// Create opens a session. If the author opened one on the page and has not used it yet, Create continues that one.
// Errors: NotFound for the report, Invalid for the template, Forbidden for a report that may not change and for a
// take-over without permission, and Conflict for an active session, which names the holder, or a document of another
// patient.
func (u *UseCase) Create(ctx context.Context, in Creation) (Created, error) {
	c := &creating{UseCase: u, in: in}
	if err := c.lookForFile(ctx); err != nil {
		return Created{}, err
	}
	if err := u.d.Reports.Lock(ctx, in.Scope, in.ReportID, func(l Locked) error { return c.run(ctx, l) }); err != nil {
		if apperr.Is(err, apperr.Conflict) {
			u.d.Counters.Refused()
		}
		return Created{}, err
	}
	u.d.WakeRelay()
	if c.created {
		u.d.Counters.Created()
		c.countClosed()
	}
	if err := c.copy(ctx); err != nil {
		return Created{}, err
	}
	token, err := u.d.Tokens.Mint(&c.opened)
	if err != nil {
		return Created{}, err
	}
	return Created{ID: c.opened.ID, Token: token, TemplateLink: c.link, Warnings: c.warnings()}, nil
}

// creating is one call of Create. run resets the results, because the transaction may be repeated.
type creating struct {
	*UseCase
	in      Creation
	missing bool // the file to begin with does not exist or belongs to another laboratory
	link    string
	opened  session.Session
	origin  *session.Session // session that saved the document to begin with; nil without one
	closed  *session.Session // session that was ended for the new one
	created bool             // a session was opened, not continued
	copied  string           // key of the session's copy of the document
}

// lookForFile checks that the file exists before the report's row is locked, because the file store may be slow.
func (c *creating) lookForFile(ctx context.Context) error {
	key, err := c.d.Files.Parse(c.in.Path)
	if err != nil {
		return nil //nolint:nilerr // template returns the error later, as other errors take precedence
	}
	size, err := c.d.Files.Size(ctx, c.in.Scope, key)
	c.missing = size < 0
	return err
}

func (c *creating) run(ctx context.Context, l Locked) error {
	c.closed, c.opened, c.origin, c.created = nil, session.Session{}, nil, false
	id, _, err := l.Once(ctx, c.request(), func() (int64, error) { return c.open(ctx, l) })
	if err != nil {
		return err
	}
	if c.opened.ID == 0 {
		if c.opened, err = l.Session(ctx, id); err != nil {
			return err
		}
	}
	if !c.created {
		if err := c.opened.CheckPatient(); err != nil {
			return err
		}
		if c.origin, err = l.Origin(ctx, c.opened.Template); err != nil {
			return err
		}
	}
	return c.announce(ctx, l)
}

// warnings returns the warnings of the continued session or, if it has none, those of the session that saved the
// document.
func (c *creating) warnings() []string {
	if own := c.opened.Warnings(); own != nil || c.origin == nil {
		return own
	}
	return c.origin.Warnings()
}

// announce records the key of the session's copy. The sweeper deletes the copy some time after the link to it has
// expired.
func (c *creating) announce(ctx context.Context, l Locked) error {
	folder := fmt.Sprintf("external-edit/%d/%d/0-%s/", c.in.ReportID, c.opened.ID, c.d.NewID())
	c.copied = c.d.Files.Key(c.in.Scope, folder+document.Word.FileName)
	return l.Announce(ctx, &session.Upload{LabID: c.in.Scope.LabID(), SessionID: c.opened.ID, WordKey: c.copied,
		PDFKey: c.d.Files.Key(c.in.Scope, folder+document.PDF.FileName), StartedAt: c.now().Add(c.d.LinkFor)})
}

// copyTimeout is shorter than the time after which the sweeper may delete the copy.
const copyTimeout = time.Minute

// copy stores a copy of the document that names its report, and signs a link to it. If the file cannot be copied, the
// link leads to the file itself.
func (c *creating) copy(ctx context.Context) error {
	from, err := c.d.Files.Parse(c.opened.Template)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, copyTimeout)
	defer cancel()
	size, err := c.d.Files.Size(ctx, c.in.Scope, from)
	if err != nil {
		return err
	}
	copied, err := c.d.Copier.Copy(ctx, c.in.Scope, c.in.ReportID, from, size, c.copied)
	if err != nil {
		return err
	}
	if copied {
		from = c.copied
	}
	c.link, err = c.d.Files.Link(ctx, c.in.Scope, from)
	return err
}

// request returns the idempotent request. Its body contains every field of the caller's request.
func (c *creating) request() idempotency.Request {
	body := fmt.Appendf(nil, "%d\n%d\n%q\n%d\n%t", c.in.ReportID, c.in.TemplateID, c.in.Path, c.in.Author.ID,
		c.in.TakeOver)
	if c.in.Author.IsDoctor {
		body = append(body, "\ndoctor"...)
	}
	return idempotency.Request{Actor: c.in.Author.Actor(), Key: c.in.Key, Operation: "CreateSession", Body: body}
}

func (c *creating) open(ctx context.Context, l Locked) (int64, error) {
	now := c.now()
	active, err := l.Active(ctx)
	if err != nil {
		return 0, err
	}
	if c.continues(active, l.Report(), now) {
		return active.ID, c.continueIt(ctx, l, active, now)
	}
	key, err := c.template(ctx, l)
	if err != nil {
		return 0, err
	}
	if err := l.Report().CheckEditable(); err != nil {
		return 0, err
	}
	listed, err := l.Listed(ctx, c.in.Author)
	if err != nil {
		return 0, err
	}
	login := c.in.Login
	if listed {
		login = nil
	}
	c.opened = session.Open(session.Opening{
		LabID: c.in.Scope.LabID(), ReportID: c.in.ReportID, PatientID: l.Report().PatientID,
		TemplateID: c.in.TemplateID, Template: c.d.Files.URL(key),
		TokenID: c.d.NewID(), Author: c.in.Author, Listed: listed,
		Login: login,
	}, now, c.d.Lifetime)
	if err := c.makeWay(ctx, l, active, now); err != nil {
		return 0, err
	}
	if err := l.Insert(ctx, &c.opened); err != nil {
		return 0, err
	}
	c.created = true
	if err := l.Emit(ctx, session.Event{Name: session.Created, Session: c.opened}); err != nil {
		return 0, err
	}
	return c.opened.ID, c.tellOfTakeOver(ctx, l, now)
}

// continues reports whether the author's session was opened on the page and is still unused. The desktop client then
// continues it, whatever file the request names.
func (c *creating) continues(active *session.Session, r session.Report, now time.Time) bool {
	return active != nil && !c.in.TakeOver && active.IsActive(now) && active.Author.Is(c.in.Author) && active.IsUnused() &&
		r.CheckEditable() == nil
}

// continueIt marks the session as used, so that another client is rejected. A repeat of this request, after a lost
// response, is recognized by its idempotency key. A request without a key leaves the session unused, so that the
// request can be repeated.
func (c *creating) continueIt(ctx context.Context, l Locked, active *session.Session, now time.Time) error {
	if c.in.Key != "" {
		active.Continue(now, c.d.Lifetime)
		if err := l.Update(ctx, active); err != nil {
			return err
		}
	}
	c.opened = *active
	return nil
}

// template returns the key of the Word file to begin with: the report's file, the file of one of its saves, or the
// template's file. Other files are rejected, because they may belong to another patient. The template is checked only
// if its file is used.
func (c *creating) template(ctx context.Context, l Locked) (string, error) {
	asked, err := c.d.Files.Parse(c.in.Path)
	if err != nil {
		return "", session.ErrNoTemplate.WithCause(err)
	}
	own, err := c.isOwn(ctx, l, asked)
	switch {
	case err != nil:
		return "", err
	case !own:
		return "", session.ErrNoTemplate
	case c.missing:
		return "", session.ErrNoTemplate.WithDetails(
			"the file of the template is not in the store; upload it there, or choose another template")
	}
	return asked, nil
}

// isOwn reports whether the file is a Word document of the report or the file of the template.
func (c *creating) isOwn(ctx context.Context, l Locked, asked string) (bool, error) {
	var err error
	if c.origin, err = l.Origin(ctx, c.d.Files.URL(asked)); err != nil {
		return false, err
	}
	if c.origin != nil {
		return true, c.origin.CheckPatient()
	}
	if c.means(l.Report().Files.Word, asked) {
		return true, nil
	}
	template, err := l.Template(ctx, c.in.TemplateID)
	return err == nil && c.means(template.Path, asked), err
}

func (c *creating) means(path, key string) bool {
	parsed, err := c.d.Files.Parse(path)
	return err == nil && parsed == key
}

// makeWay closes an active session that has expired or that the caller may take over. Otherwise it returns an error.
func (c *creating) makeWay(ctx context.Context, l Locked, active *session.Session, now time.Time) error {
	switch {
	case active == nil:
		return nil
	case active.HasExpired(now):
		c.closed = active
		return Close(ctx, l, active, session.Expired, now)
	case !c.in.TakeOver:
		return session.Held(active)
	case !active.Author.Is(c.in.Author) && !c.in.MayTakeOver:
		return errTakeOverForbidden
	}
	c.closed = active
	active.EndedBy = c.in.Author.Name
	return Close(ctx, l, active, session.TakenOver, now)
}

// tellOfTakeOver emits and logs that the author changed. It does nothing if the same author continues, for example
// after a crash of the computer.
func (c *creating) tellOfTakeOver(ctx context.Context, l Locked, now time.Time) error {
	if c.closed == nil || c.closed.End != session.TakenOver || c.closed.Author.Is(c.in.Author) {
		return nil
	}
	before := c.closed.Author
	if err := l.Emit(ctx, session.Event{Name: session.AuthorshipChanged, Session: c.opened,
		Previous: &before}); err != nil {
		return err
	}
	return l.Log(ctx, activitylog.Entry{
		Category: activitylog.ExternalEditTakenOver, Actor: c.in.Author.Actor(), At: now,
		Text: "External edit session taken over",
		Meta: activitylog.Change[holder]{Old: holder{c.closed.ID, before.ID, before.Name},
			New: holder{c.opened.ID, c.in.Author.ID, c.in.Author.Name}},
	})
}

// holder identifies the holder of a session in the activity log.
type holder struct {
	EditID     int64  `json:"edit_id"`
	AuthorID   int64  `json:"author_id"`
	AuthorName string `json:"author_name"`
}

func (c *creating) countClosed() {
	if c.closed != nil {
		c.d.Counters.Ended(c.closed.End)
	}
}
