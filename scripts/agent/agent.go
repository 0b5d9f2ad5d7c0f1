package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

const (
	documentName = "report.docx"
	endTimeout   = 2 * time.Minute // of the last save and the end, after Ctrl-C
)

// errLost tells that the session is gone. The document stays where it is.
var errLost = errors.New("the session is not ours any more")

// agent edits one report.
type agent struct {
	client       client
	report       int64
	dir          string
	template     int64
	templatePath string
	takeOver     bool
	heartbeat    time.Duration
	poll         time.Duration
	convert      func(ctx context.Context, word, pdf string) error
	out          io.Writer

	journal journal
}

func (a *agent) say(format string, args ...any) {
	fmt.Fprintf(a.out, "%s  %s\n", time.Now().Format("15:04:05"), fmt.Sprintf(format, args...))
}

func (a *agent) document() string { return filepath.Join(a.dir, documentName) }

// run works until ctx ends; then it saves what was not saved and ends the session.
func (a *agent) run(ctx context.Context) error {
	if err := os.MkdirAll(a.dir, 0o700); err != nil {
		return err
	}
	if err := a.begin(ctx); err != nil {
		return err
	}
	a.say("edit %s; every save is uploaded; Ctrl-C ends the session", a.document())
	if err := a.watch(ctx); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), endTimeout)
	defer cancel()
	if err := a.save(ctx); err != nil {
		return fmt.Errorf("the last save was not uploaded, start again with the same --dir: %w", err)
	}
	if err := a.client.end(ctx, a.journal.EditID, a.journal.Token); err != nil {
		return err
	}
	a.say("session %d has ended", a.journal.EditID)
	return a.journal.remove(a.dir)
}

// begin goes on with the session of the journal, or opens one.
func (a *agent) begin(ctx context.Context) error {
	var err error
	if a.journal, err = readJournal(a.dir); err != nil {
		return err
	}
	if a.journal.EditID != 0 {
		if a.journal.Report != a.report {
			return fmt.Errorf("%s belongs to report %d: take another --dir", a.dir, a.journal.Report)
		}
		if done, err := a.resume(ctx); done || err != nil {
			return err
		}
	}
	return a.open(ctx)
}

// resume goes on with the session of the journal. It returns false when another has to be opened.
func (a *agent) resume(ctx context.Context) (bool, error) {
	token, err := a.client.heartbeat(ctx, a.journal.EditID, a.journal.Token)
	if refused(err) {
		a.say("session %d has ended (%v); opening another", a.journal.EditID, err)
		return false, nil
	}
	if err != nil {
		return false, err
	}
	if _, err := os.Stat(a.document()); errors.Is(err, fs.ErrNotExist) {
		a.say("session %d has no document here: it is opened again", a.journal.EditID)
		a.takeOver = true // one's own
		return false, nil
	}
	a.journal.Token = token
	a.say("going on with session %d", a.journal.EditID)
	return true, a.journal.write(a.dir)
}

func (a *agent) open(ctx context.Context) error {
	opened, err := a.client.create(ctx, a.report, creation{TemplateID: a.template, Path: a.templatePath,
		TakeOver: a.takeOver})
	if err != nil {
		return err
	}
	a.say("session %d of report %d is open", opened.EditID, a.report)
	saved := a.journal.Saved
	a.journal = journal{Report: a.report, EditID: opened.EditID, Token: opened.Token, Saved: saved}
	if err := a.journal.write(a.dir); err != nil {
		return err
	}
	if _, err := os.Stat(a.document()); err == nil {
		a.say("%s is there already and is kept", a.document())
		return nil
	}
	if err := a.client.download(ctx, opened.Template, a.document()); err != nil {
		return err
	}
	sum, err := hash(a.document())
	if err != nil {
		return err
	}
	a.journal.Saved = sum // the template itself is no save
	return a.journal.write(a.dir)
}

// watch uploads every save and gives signs of life until ctx ends.
func (a *agent) watch(ctx context.Context) error {
	beat, look := time.NewTicker(a.heartbeat), time.NewTicker(a.poll)
	defer beat.Stop()
	defer look.Stop()
	var before os.FileInfo
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-beat.C:
			if err := a.beat(ctx); err != nil {
				return err
			}
		case <-look.C:
			info, err := os.Stat(a.document())
			if err != nil { // a word processor replaces the file
				continue
			}
			settled := before != nil && before.ModTime().Equal(info.ModTime()) && before.Size() == info.Size()
			if before = info; !settled {
				continue
			}
			if err := a.save(ctx); err != nil && ctx.Err() == nil {
				return err
			}
		}
	}
}

// beat keeps the session alive; a platform that does not answer is asked again with the next beat.
func (a *agent) beat(ctx context.Context) error {
	token, err := a.client.heartbeat(ctx, a.journal.EditID, a.journal.Token)
	switch {
	case err == nil:
		a.journal.Token = token
		return a.journal.write(a.dir)
	case refused(err):
		return fmt.Errorf("%w: %w", errLost, err)
	}
	a.say("no answer to the sign of life: %v", err)
	return nil
}

// save uploads the document if it changed, until it is acknowledged.
func (a *agent) save(ctx context.Context) error {
	sum, err := hash(a.document())
	if err != nil || sum == a.journal.Saved {
		return err
	}
	folder, err := os.MkdirTemp(a.dir, ".save-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder)
	word, pdf := filepath.Join(folder, documentName), filepath.Join(folder, "report.pdf")
	if err := copyFile(a.document(), word); err != nil { // what is uploaded does not change while it is
		return err
	}
	if sum, err = hash(word); err != nil {
		return err
	}
	a.say("saved: converting")
	if err := a.convert(ctx, word, pdf); err != nil {
		return err
	}
	if err := a.upload(ctx, word, pdf); err != nil {
		return err
	}
	a.journal.Saved = sum
	return a.journal.write(a.dir)
}

// upload tries again while the platform asks for patience or does not answer.
func (a *agent) upload(ctx context.Context, word, pdf string) error {
	for pause := time.Second; ; pause = min(2*pause, time.Minute) {
		link, err := a.client.upload(ctx, a.journal.EditID, a.journal.Token, word, pdf)
		if err == nil {
			a.say("uploaded: %s", link)
			return nil
		}
		if refused(err) {
			return fmt.Errorf("%w: %w", errLost, err)
		}
		wait, ok := patience(err, pause)
		if !ok {
			a.say("NOT uploaded: %v", err)
			return nil // the next save may be in order
		}
		a.say("not uploaded yet (%v): again in %s", err, wait)
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(wait):
		}
	}
}

func hash(path string) (string, error) {
	file, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer file.Close()
	sum := sha256.New()
	if _, err := io.Copy(sum, file); err != nil {
		return "", err
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}

func copyFile(from, to string) error {
	content, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return os.WriteFile(to, content, 0o600)
}
