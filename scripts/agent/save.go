package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"
)

// saver remembers what was looked at, so that a large document is read only when it changed.
type saver struct {
	before  os.FileInfo // at the last look
	done    os.FileInfo // saved, or refused for good
	pause   time.Duration
	retryAt time.Time
}

const (
	firstPause = time.Second
	maxPause   = time.Minute
)

// saveIfDue uploads the document when it changed and is not being written. What passes by itself is said and tried
// again; what does not is said once, until the document changes. errLost ends the work.
func (a *agent) saveIfDue(ctx context.Context) error {
	s := &a.saver
	info, err := os.Stat(a.document())
	if err != nil { // a word processor replaces the file
		return nil //nolint:nilerr // the next look finds it
	}
	settled := same(s.before, info)
	if s.before = info; !settled || same(s.done, info) || time.Now().Before(s.retryAt) {
		return nil
	}
	sum, err := hash(a.document())
	j := a.known()
	if err == nil && sum != j.Saved {
		err = a.save(ctx)
	}
	s.pause, s.retryAt = min(max(2*s.pause, firstPause), maxPause), time.Time{}
	wait, again := patience(err, s.pause)
	switch {
	case err == nil:
		s.done, s.pause = info, 0
	case errors.Is(err, errLost), ctx.Err() != nil:
		return err
	case again:
		s.retryAt = time.Now().Add(wait)
		a.say("not uploaded yet: %v; again in %s", err, wait)
	default:
		s.done, s.pause = info, 0
		a.say("NOT uploaded: %v; what is wrong must be changed before the document is saved again", err)
	}
	return err
}

func same(a, b os.FileInfo) bool {
	return a != nil && a.ModTime().Equal(b.ModTime()) && a.Size() == b.Size()
}

const savePattern = ".save-*"

// save uploads the document once.
func (a *agent) save(ctx context.Context) error {
	dir, err := os.MkdirTemp(filepath.Dir(a.document()), savePattern)
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	word, pdf := filepath.Join(dir, documentName), filepath.Join(dir, "report.pdf")
	if err := copyFile(a.document(), word); err != nil { // what is uploaded does not change while it is
		return err
	}
	sum, err := hash(word)
	if err != nil {
		return err
	}
	a.say("saved: converting")
	if err := a.convert(ctx, word, pdf); err != nil {
		return err
	}
	j := a.known()
	path, err := a.platform.upload(ctx, j.EditID, j.Token, word, pdf)
	if refused(err) {
		return lost(err)
	}
	if err != nil {
		return err
	}
	a.say("uploaded: %s", path)
	return a.note(func(j *journal) { j.Base, j.Saved = path, sum })
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
		return fmt.Errorf("copy the document: %w", err)
	}
	return os.WriteFile(to, content, 0o600)
}
