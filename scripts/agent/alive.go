package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"
)

// keepAlive sends heartbeats, also during conversions and uploads, and cancels the work when the session is no longer
// ours. A heartbeat without a response is repeated at the next interval.
func (a *agent) keepAlive(ctx context.Context, lose context.CancelCauseFunc) {
	ticker := time.NewTicker(a.beats)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		err := a.beat(ctx)
		switch {
		case ctx.Err() != nil:
			return
		case refused(err):
			lose(lost(err))
			return
		case errors.Is(err, errLoggedOut):
			lose(err)
			return
		case err != nil:
			a.say("no sign of life was given: %v", err)
		}
	}
}

// beat gives a sign of life. A token that grew old, while the machine slept or because the answer with a newer one was
// lost, is replaced: the creation repeated answers with one.
func (a *agent) beat(ctx context.Context) error {
	j := a.known()
	token, err := a.platform.heartbeat(ctx, j.EditID, j.Token)
	if isCode(err, http.StatusUnauthorized) {
		var again opened
		again, err = a.platform.create(ctx, a.report, j.Key, j.Creation)
		if isCode(err, http.StatusUnauthorized) {
			return a.loggedOut(err)
		}
		if err == nil {
			token, err = a.platform.heartbeat(ctx, j.EditID, again.Token)
		}
	}
	if err != nil {
		return err
	}
	return a.note(func(j *journal) { j.Token = token })
}

// loggedOut tells what to do when the user's own login was refused: it does not come back by itself.
func (a *agent) loggedOut(err error) error {
	return fmt.Errorf("%w: %w; your saves stay in %s and are NOT sent: log in to the platform, set %s or %s again and start"+
		" the same command, which sends the newest", errLoggedOut, err, a.document(), sessionVariable, tokenVariable)
}

// lost tells what to do.
func lost(err error) error {
	switch {
	case expired(err):
		return fmt.Errorf("%w: %w; the document is kept: start the same command again", errExpired, err)
	case endedByAuthor(err):
		return fmt.Errorf("%w: %w; the document is kept: start the same command again", errLost, err)
	}
	return fmt.Errorf("%w: %w; the document is kept: ask who has the report now. To start over, move it and %s away", errLost,
		err, journalName)
}

// alive gives a sign of life. It returns false when another session has to be opened: ours expired, or we ended it.
// After anything else the report is someone else's.
func (a *agent) alive(ctx context.Context) (bool, error) {
	err := a.beat(ctx)
	switch {
	case isCode(err, http.StatusForbidden) && (expired(err) || endedByAuthor(err)):
		a.say("session %d has ended (%v)", a.journal.EditID, err)
		return false, nil
	case refused(err):
		return false, lost(err)
	}
	return err == nil, err
}

// expired and endedByAuthor report that no one took the report away.
func expired(err error) bool { return strings.Contains(err.Error(), "the session expired") }

func endedByAuthor(err error) bool { return strings.Contains(err.Error(), "ended by its author") }

// reopen opens another session after ours expired: the machine slept, or a day has passed. The document stays as it is,
// because a word processor may have it open; when someone else saved meanwhile, the work ends.
func (a *agent) reopen(ctx context.Context) error {
	a.say("session %d expired; another one is opened", a.known().EditID)
	a.creation.TakeOver = false // that was about the start
	if err := a.note(func(j *journal) { *j = j.next() }); err != nil {
		return err
	}
	for pause := firstPause; ; pause = min(2*pause, maxPause) {
		err := a.reopenOnce(ctx)
		wait, again := patience(err, pause)
		if err == nil || errors.Is(err, errLost) {
			return err
		}
		if isCode(err, http.StatusUnauthorized) {
			return a.loggedOut(err)
		}
		if !again {
			return fmt.Errorf("%w: %w; the document is kept in %s", errLost, err, a.document())
		}
		a.say("no session could be opened yet: %v; again in %s", err, wait)
		select {
		case <-ctx.Done():
			return fmt.Errorf("%w: no session could be opened; start the same command again", errNotSaved)
		case <-time.After(wait):
		}
	}
}

func (a *agent) reopenOnce(ctx context.Context) error {
	if a.known().EditID == 0 {
		if err := a.open(ctx); err != nil {
			return err
		}
	}
	j := a.known()
	current, err := a.platform.current(ctx, a.report, j.Token)
	if err != nil {
		return err
	}
	if !j.isOurs(current) {
		return a.overtaken(ctx)
	}
	return nil
}
