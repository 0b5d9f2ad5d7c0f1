package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// begin continues the session of the journal or opens one, and downloads the document into the folder.
func (a *agent) begin(ctx context.Context) error {
	if err := a.recall(); err != nil {
		return err
	}
	a.sweep()
	for {
		if a.journal.EditID != 0 {
			a.say("going on with session %d", a.journal.EditID)
		} else if err := a.open(ctx); err != nil {
			return err
		}
		alive, err := a.alive(ctx)
		if err != nil {
			return err
		}
		if alive {
			return a.fetch(ctx)
		}
		a.journal = a.journal.next()
	}
}

// sweep deletes remains of an interrupted download, and files that the previous version left.
func (a *agent) sweep() {
	dir := filepath.Dir(a.disk.document())
	found, _ := os.ReadDir(dir) // on failure the next start deletes them
	for _, entry := range found {
		if name := entry.Name(); strings.HasPrefix(name, downloadName) || strings.HasPrefix(name, ".save-") {
			_ = os.RemoveAll(filepath.Join(dir, name)) // on failure the next start deletes them
		}
	}
}

// recall reads the journal and refuses a folder that belongs to another report.
func (a *agent) recall() error {
	found, err := a.disk.read()
	if err != nil {
		return err
	}
	if found == nil {
		if _, err := os.Stat(a.disk.document()); !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("%s is there and nothing names its report: move it away or take another --dir",
				a.disk.document())
		}
		a.journal = journal{Report: a.report}
		return nil
	}
	if found.Report != a.report {
		return fmt.Errorf("%s belongs to report %d: take another --dir", a.disk.document(), found.Report)
	}
	a.journal = *found
	if found.Ended {
		a.journal = a.journal.next()
	}
	return a.settle()
}

// settle finds out whether the journal's download replaced the document: then the download file no longer exists. It
// writes the outcome into the journal before sweep deletes the download, or the next start would draw the wrong
// conclusion.
func (a *agent) settle() error {
	if a.journal.Fetching == nil {
		return nil
	}
	_, err := os.Stat(a.disk.download())
	placed := errors.Is(err, fs.ErrNotExist)
	return a.note(func(j *journal) {
		if placed {
			j.placed()
		}
		j.Fetching = nil
	})
}

// open opens a session. The request is in the journal before it is sent, so that a restart repeats it and gets the same
// session.
func (a *agent) open(ctx context.Context) error {
	if a.journal.Key == "" {
		current, err := a.platform.current(ctx, a.report, "")
		if err != nil {
			return err
		}
		wish, err := a.wish(ctx, current)
		if err != nil {
			return err
		}
		if err := a.note(func(j *journal) { j.Key, j.Creation = a.newKey(), wish }); err != nil {
			return err
		}
	}
	session, err := a.platform.create(ctx, a.report, a.journal.Key, a.journal.Creation)
	if _, again := patience(err, 0); err != nil && !again { // the next start may send another request
		err = errors.Join(err, a.note(func(j *journal) { j.Key = "" }))
	}
	if err != nil {
		return err
	}
	a.say("session %d of report %d is open", session.EditID, a.report)
	return a.note(func(j *journal) { j.EditID, j.Token = session.EditID, session.Token })
}

// wish returns the request for a session. Its document is the report's newest save. Without a save it is a template:
// the chosen one, the only one, or that of the user's own session. Such a session was opened on the page, and the
// command that the page shows does not name the template.
func (a *agent) wish(ctx context.Context, current *revision) (creation, error) {
	wish := a.creation
	if current != nil {
		wish.Path, wish.TemplateID = current.Word, max(wish.TemplateID, 1) // any template: the newest save is used
		return wish, nil
	}
	offered, err := a.platform.templates(ctx)
	if err != nil {
		return wish, err
	}
	var list strings.Builder
	for _, t := range offered {
		if t.ID == wish.TemplateID || (wish.TemplateID == 0 && len(offered) == 1) {
			return creation{TemplateID: t.ID, Path: t.Path, TakeOver: wish.TakeOver}, nil
		}
		fmt.Fprintf(&list, "\n  --template %d  %s", t.ID, t.Name)
	}
	if len(offered) == 0 {
		return wish, errors.New("the laboratory has no template: ask an administrator for one")
	}
	if wish.TemplateID == 0 && !wish.TakeOver {
		own, err := a.platform.own(ctx, a.report)
		if err != nil {
			return wish, err
		}
		if own != nil {
			wish = own.creation(offered)
			a.creation.TemplateID = wish.TemplateID // also for the next session, if this one expires without a save
			return wish, nil
		}
	}
	return wish, &unfit{fmt.Errorf("choose the template of the new document:%s", list.String())}
}

// creation returns the request that continues the session. The service continues an unused session whatever the request
// names. For a used one it returns 409 only if the template and its file belong together. The file may be named by key
// or URL.
func (o *ownSession) creation(offered []wordTemplate) creation {
	for _, t := range offered {
		if t.Path == o.Word || strings.HasSuffix(o.Word, "/"+t.Path) {
			return creation{TemplateID: t.ID, Path: t.Path}
		}
	}
	return creation{TemplateID: 1, Path: o.Word}
}

// fetch downloads the newest save, or the template of a report without one. An unsaved document stays in the folder; it
// is not uploaded if another user has saved since.
func (a *agent) fetch(ctx context.Context) error {
	j := a.known()
	current, err := a.platform.current(ctx, a.report, j.Token)
	if err != nil {
		return err
	}
	sum, err := hash(a.document())
	missing := errors.Is(err, fs.ErrNotExist)
	if err != nil && !missing {
		return err
	}
	unsaved := !missing && sum != j.Saved
	switch {
	case unsaved && j.isOurs(current):
		a.say("%s was not saved yet and is kept", a.document())
		return nil
	case unsaved:
		return a.overtaken(ctx)
	case !missing && j.Base == pathOf(current):
		return nil
	}
	return a.replace(ctx, current)
}

// overtaken ends the session, because uploading its document would replace another user's save.
func (a *agent) overtaken(ctx context.Context) error {
	j := a.known()
	_ = a.platform.end(ctx, j.EditID, j.Token) // on failure the session expires
	return fmt.Errorf("%w: someone saved since %s was downloaded; it is kept: move it and %s away, start again and bring"+
		" your changes into the new document", errLost, a.document(), journalName)
}

func (a *agent) document() string { return a.disk.document() }

// isOurs reports whether the report's save is the one that the document is based on, or one that this agent uploaded.
func (j *journal) isOurs(current *revision) bool {
	if pathOf(current) == j.Base {
		return true
	}
	return current != nil && current.RestoredFrom == 0 && (current.EditID == j.EditID || current.EditID == j.Previous)
}

// replace downloads the document. The journal holds its hash before it replaces the document, so that it is never taken
// for a save of the user; whether it has replaced it follows from the existence of the download file.
func (a *agent) replace(ctx context.Context, current *revision) error {
	link, err := a.link(ctx, current)
	if err != nil {
		return err
	}
	if err := a.platform.download(ctx, link, a.disk.download()); err != nil {
		return err
	}
	sum, err := hash(a.disk.download())
	if err != nil {
		return err
	}
	if err := a.note(func(j *journal) { j.Fetching = &fetching{pathOf(current), sum} }); err != nil {
		return err
	}
	if err := a.disk.place(); err != nil {
		return err
	}
	return a.note((*journal).placed)
}

// link returns the link to the session's own copy of its document, which a repeated creation returns. A later save, and
// a continued session that was opened with another document, have links of their own.
func (a *agent) link(ctx context.Context, current *revision) (string, error) {
	j := a.known()
	if current != nil && current.Word != j.Creation.Path {
		return current.Link, nil
	}
	if current != nil {
		own, err := a.platform.own(ctx, a.report)
		if err != nil {
			return "", err
		}
		if own == nil || own.Word != current.Word {
			return current.Link, nil
		}
	}
	again, err := a.platform.create(ctx, a.report, j.Key, j.Creation)
	return again.Template, err
}

func pathOf(r *revision) string {
	if r == nil {
		return ""
	}
	return r.Word
}
