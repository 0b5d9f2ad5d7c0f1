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

// begin continues with the session of the journal, or opens one, and has the document in the folder.
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

// sweep deletes what a crash left of a download, and what the previous version left of a save.
func (a *agent) sweep() {
	dir := filepath.Dir(a.disk.document())
	found, _ := os.ReadDir(dir) // else the next start
	for _, entry := range found {
		if name := entry.Name(); strings.HasPrefix(name, downloadName) || strings.HasPrefix(name, ".save-") {
			_ = os.RemoveAll(filepath.Join(dir, name)) // else the next start
		}
	}
}

// recall reads the journal and refuses the folder of another report.
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

// settle finds out whether the download that the journal names took the document's place and so disappeared. That is
// written down before the download is swept, or the next start would take the document for it.
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

// open asks for a session. What it asks for is in the journal before: a crash repeats it and gets the same one.
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
	if _, again := patience(err, 0); err != nil && !again { // the next start may ask for something else
		err = errors.Join(err, a.note(func(j *journal) { j.Key = "" }))
	}
	if err != nil {
		return err
	}
	a.say("session %d of report %d is open", session.EditID, a.report)
	return a.note(func(j *journal) { j.EditID, j.Token = session.EditID, session.Token })
}

// wish is what to ask for: the report's newest save; for a report without one the template that was chosen, or the only
// one that there is, or that of the user's own session: the page opened it, and its command does not name the template.
func (a *agent) wish(ctx context.Context, current *revision) (creation, error) {
	wish := a.creation
	if current != nil {
		wish.Path, wish.TemplateID = current.Word, max(wish.TemplateID, 1) // any: the save is the document
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
			a.creation.TemplateID = wish.TemplateID // of the next session too, if this one expires without a save
			return wish, nil
		}
	}
	return wish, &unfit{fmt.Errorf("choose the template of the new document:%s", list.String())}
}

// creation asks for the session again. The service continues an unused session whatever is asked for; it answers a used
// one with 409 only when the template and its file belong together. The file may be named by its key or its URL.
func (o *ownSession) creation(offered []wordTemplate) creation {
	for _, t := range offered {
		if t.Path == o.Word || strings.HasSuffix(o.Word, "/"+t.Path) {
			return creation{TemplateID: t.ID, Path: t.Path}
		}
	}
	return creation{TemplateID: 1, Path: o.Word}
}

// fetch has the newest save in the folder, or the template of a report without one. A document that was not saved
// stays; when someone else saved since, it is not uploaded over that.
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

// overtaken ends the session, whose document is not to be uploaded over someone else's save.
func (a *agent) overtaken(ctx context.Context) error {
	j := a.known()
	_ = a.platform.end(ctx, j.EditID, j.Token) // else it expires
	return fmt.Errorf("%w: someone saved since %s was downloaded; it is kept: move it and %s away, start again and bring"+
		" your changes into the new document", errLost, a.document(), journalName)
}

func (a *agent) document() string { return a.disk.document() }

// isOurs reports whether the report's save is the one that the document began with, or one that we uploaded ourselves.
func (j *journal) isOurs(current *revision) bool {
	if pathOf(current) == j.Base {
		return true
	}
	return current != nil && current.RestoredFrom == 0 && (current.EditID == j.EditID || current.EditID == j.Previous)
}

// replace downloads the document. The journal knows its hash before it takes its place, so that it is never taken for a
// save of the user's; whether it did is seen by the download, which is there or not.
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

// link is that of the session's own copy of the document that it began with: the creation repeated answers with it. A
// save that was made since has its own; so has one that a continued session was not opened with.
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
