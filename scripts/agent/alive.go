package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"
)

// keepAlive sends heartbeats, also during conversions and uploads, and cancels the work once the session is lost. A
// heartbeat without a response is repeated at the next interval.
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

// beat sends a heartbeat. An expired token (the machine slept, or a response with a newer token was lost) is replaced
// by repeating the creation, which returns a new one.
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

// loggedOut returns the error for a refused user login, with what to do next; the login does not recover by itself.
func (a *agent) loggedOut(err error) error {
	return fmt.Errorf("%w: %w; your saves stay in %s and are NOT sent: log in to the platform, set %s or %s again and start"+
		" the same command, which sends the newest", errLoggedOut, err, a.document(), sessionVariable, tokenVariable)
}

// lost returns the error for a lost session, with what to do next.
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

// alive sends a heartbeat. It returns false when a new session has to be opened, because the session expired or was
// ended by its author. It returns an error after any other end, because another user may then have the report.
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

// expired and endedByAuthor report whether the session ended without another user taking the report.
func expired(err error) bool { return strings.Contains(err.Error(), "the session expired") }

func endedByAuthor(err error) bool { return strings.Contains(err.Error(), "ended by its author") }

// reopen opens a new session after the previous one expired: the machine slept, or a day has passed. It leaves the
// document unchanged, because a word processor may have it open, and fails if another user saved meanwhile.
func (a *agent) reopen(ctx context.Context) error {
	a.say("session %d expired; another one is opened", a.known().EditID)
	a.creation.TakeOver = false // it was meant for the first session only
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
