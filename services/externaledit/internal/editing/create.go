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

// Creation asks for a new session.
type Creation struct {
	Scope       authn.LabScope
	ReportID    int64
	TemplateID  int64
	Path        string // of the Word file to begin with: a URL or a key
	Author      session.Author
	TakeOver    bool // end a session that is active
	MayTakeOver bool // also another user's
	Key         string
	Login       []byte // sealed; nil: by a token
}

// Created is a new session, and what its desktop client needs.
type Created struct {
	ID           int64
	Token        string
	TemplateLink string
	Warnings     []string // what the author has to check in the document
}

var errTakeOverForbidden = apperr.New(apperr.Forbidden, "TAKE_OVER_NOT_ALLOWED",
	"Taking over another user's session needs the permission report_edit_takeover; ask an administrator of the laboratory")

// Create opens a session, or continues one that its author opened on the page and has not used yet. Errors: NotFound
// for the report, Invalid for the template, Forbidden for a report that may not change and for a take-over without the
// right, Conflict that names the holder.
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

// creating is one attempt; run begins from nothing each time.
type creating struct {
	*UseCase
	in      Creation
	missing bool // there is no file to begin with, or it is another laboratory's
	link    string
	opened  session.Session
	origin  *session.Session // that saved the document to begin with, nil without one
	closed  *session.Session // the one that made way
	created bool             // else the session was there
	copied  string           // the key of the copy to begin with
}

// lookForFile asks the store before the report's row is held: an answer may take its time.
func (c *creating) lookForFile(ctx context.Context) error {
	key, err := c.d.Files.Parse(c.in.Path)
	if err != nil {
		return nil //nolint:nilerr // template refuses it, after what counts more
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
		if c.origin, err = l.Origin(ctx, c.opened.Template); err != nil {
			return err
		}
	}
	return c.announce(ctx, l)
}

// warnings are those of the session that is continued, else of the one that saved the document.
func (c *creating) warnings() []string {
	if own := c.opened.Warnings(); own != nil || c.origin == nil {
		return own
	}
	return c.origin.Warnings()
}

// announce writes down where the copy will be, which the sweeper deletes some time after the link to it has ended.
func (c *creating) announce(ctx context.Context, l Locked) error {
	folder := fmt.Sprintf("external-edit/%d/%d/0-%s/", c.in.ReportID, c.opened.ID, c.d.NewID())
	c.copied = c.d.Files.Key(c.in.Scope, folder+document.Word.FileName)
	return l.Announce(ctx, &session.Upload{LabID: c.in.Scope.LabID(), SessionID: c.opened.ID, WordKey: c.copied,
		PDFKey: c.d.Files.Key(c.in.Scope, folder+document.PDF.FileName), StartedAt: c.now().Add(c.d.LinkFor)})
}

// copyTimeout is less than it takes until the sweeper may delete the copy.
const copyTimeout = time.Minute

// copy stores the session's own copy of the document, which names its report, and links it. A file that cannot be
// copied is linked itself.
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

// request is everything that the outcome depends on.
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

// continues reports whether the author's own session was opened on the page and is not used yet: the desktop client
// continues it, whatever it asks to begin with.
func (c *creating) continues(active *session.Session, r session.Report, now time.Time) bool {
	return active != nil && !c.in.TakeOver && active.IsActive(now) && active.Author.Is(c.in.Author) && active.IsUnused() &&
		r.CheckEditable() == nil
}

// continueIt has the session used by this request alone: another client is refused. The same request again, after a
// lost response, is answered by its key. A request without a key leaves the session unused, so that it can be repeated.
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

// template returns the key of the Word file to begin with: the report's, that of one of its saves, or the template's
// own. Another file of the laboratory may be another patient's. The template counts only when it is used.
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

// isOwn reports whether the file is the report's as a Word document, or the template's.
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

// makeWay closes a session that expired, or that is to be taken over, and refuses otherwise.
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

// tellOfTakeOver announces another author, not one who continues after their machine died.
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

// holder is who held the report, as the activity log keeps it.
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
