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

// saver holds the state of the file as it was last read, so that a large document is read rarely unless it changes.
type saver struct {
	before  os.FileInfo // at the last check
	done    os.FileInfo // at the last upload or final refusal
	refused string      // the hash of a finally refused document
	hashAt  time.Time   // when the content is read next although the file looks unchanged
	missing time.Time   // when the document was found missing
	told    bool        // whether the user was informed that it is missing
	pause   time.Duration
	retryAt time.Time
}

const (
	firstPause = time.Second
	maxPause   = time.Minute
	// goneFor is how long a word processor may take to replace the file.
	goneFor = 2 * time.Second
	// rereadPause is the interval at which an unchanged file is read: on some shares two saves within two seconds have the
	// same time. A document that takes long to read is read less often.
	rereadPause, rereadTimes = 5 * time.Second, 20
)

// saveIfDue uploads the document if it changed and is not being written. Temporary failures are shown and retried,
// permanent ones shown once until the document changes. errLost and errExpired end the work.
func (a *agent) saveIfDue(ctx context.Context) error {
	s := &a.saver
	info, err := os.Stat(a.document())
	if err != nil {
		a.look(err)
		return nil
	}
	if s.told {
		a.say("%s is there again", a.document())
	}
	s.missing, s.told = time.Time{}, false
	settled := same(s.before, info)
	s.before = info
	now := time.Now()
	if !settled || now.Before(s.retryAt) || (same(s.done, info) && now.Before(s.hashAt)) {
		return nil
	}
	sum, err := hash(a.document())
	s.hashAt = time.Now().Add(max(rereadPause, rereadTimes*time.Since(now)))
	if err == nil && (sum == a.known().Saved || sum == s.refused) {
		s.done = info
		return nil
	}
	if err == nil {
		err = a.save(ctx)
	}
	return a.settled(ctx, info, sum, err)
}

// settled shows the outcome of a save and decides when the next one is due.
func (a *agent) settled(ctx context.Context, info os.FileInfo, sum string, err error) error {
	s := &a.saver
	s.pause, s.retryAt = min(max(2*s.pause, firstPause), maxPause), time.Time{}
	wait, again := patience(err, s.pause)
	switch {
	case err == nil:
		s.done, s.pause = info, 0
	case errors.Is(err, errLost), errors.Is(err, errExpired), ctx.Err() != nil:
		return err
	case again:
		s.retryAt = time.Now().Add(wait)
		a.say("not uploaded yet: %v; again in %s", err, wait)
	default:
		s.done, s.refused, s.pause = info, sum, 0
		a.say("NOT uploaded: %v. Your text is kept in %s; the next save of it is tried again", err, a.document())
	}
	return err
}

// look shows once that the document is missing, unless it is just being replaced.
func (a *agent) look(err error) {
	s := &a.saver
	if s.missing.IsZero() {
		s.missing = time.Now()
	}
	if s.told || time.Since(s.missing) < goneFor {
		return
	}
	s.told = true
	a.say("%v", a.unreadable(err))
}

// unreadable returns the error for a document that cannot be read.
func (a *agent) unreadable(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s is missing: if you saved it under another name or moved it, save it as %s again",
			a.document(), a.document())
	}
	return fmt.Errorf("the document cannot be read: %w", err)
}

func same(a, b os.FileInfo) bool {
	return a != nil && a.ModTime().Equal(b.ModTime()) && a.Size() == b.Size()
}

var errTracked = errors.New("the document has changes that are neither accepted nor rejected, which would stand in the" +
	" report as they are: accept or reject them (in Word: Review, Accept or Reject) and save again; or start the agent" +
	" with --tracked-changes=final, which shows in the PDF what remains when all are accepted")

// save makes one attempt to convert a copy of the document to PDF and to upload both.
func (a *agent) save(ctx context.Context) error {
	s, err := a.slots.take()
	if err != nil {
		return err
	}
	defer s.release()
	sum, err := copyFile(a.document(), s.word()) // the copy does not change during the upload
	if err != nil {
		return err
	}
	tracked, err := a.check(s.word())
	if err != nil {
		return err
	}
	shown := s.word()
	if tracked {
		if shown, err = a.shown(s); err != nil {
			return err
		}
	}
	a.say("saved: converting")
	if err := a.convert(ctx, s, shown); err != nil {
		return err
	}
	j := a.known()
	path, err := a.platform.upload(ctx, j.EditID, j.Token, files{s.word(), s.pdf(), tracked})
	if refused(err) {
		return lost(err)
	}
	if err != nil {
		return err
	}
	a.say("uploaded: %s", path)
	return a.note(func(j *journal) { j.Base, j.Saved = path, sum })
}

// shown writes a copy with all tracked changes accepted, if the author asked for that, and returns its path.
func (a *agent) shown(s slot) (string, error) {
	if !a.final {
		return "", &unfit{errTracked}
	}
	if err := os.Mkdir(filepath.Dir(s.shown()), 0o700); err != nil {
		return "", err
	}
	return s.shown(), finalView(s.word(), s.shown())
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

// copyFile copies a file and returns its hash.
func copyFile(from, to string) (string, error) {
	content, err := os.ReadFile(from)
	if err == nil {
		err = os.WriteFile(to, content, 0o600)
	}
	if err != nil {
		return "", fmt.Errorf("copy the document: %w", err)
	}
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:]), nil
}
