package main

import (
	"context"
	"crypto/rand"
	"fmt"
	"net/http"
	"os"
	"strings"
	"sync"
	"time"
)

// hospital simulates the platform for the agent, in memory and in virtual time. Its responses are those of the service.
type hospital struct {
	mu        sync.Mutex
	ttl       time.Duration
	sessions  map[int64]*held
	keys      map[string]int64
	revisions []saved
	refusal   error // error of uploads
	beats     int
	tokens    int
	old       map[string]bool // tokens that are no longer valid, although their sessions are
}

// held is an editing session. ended is the service's sentence about its end.
type held struct {
	id, report int64
	expires    time.Time
	ended      string
	begins     string // link of the document that it began with
	unused     bool   // opened on the page; the next client continues it
}

type saved struct {
	revision
	report  int64
	content string
}

const template = "TEMPLATE"

func newHospital() *hospital {
	return &hospital{ttl: 8 * time.Hour, sessions: map[int64]*held{}, keys: map[string]int64{}, old: map[string]bool{}}
}

// refuse makes uploads return err.
func (h *hospital) refuse(err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.refusal = err
}

// signs returns the number of heartbeats.
func (h *hospital) signs() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.beats
}

// expire ends a session as if its heartbeats had stopped.
func (h *hospital) expire(id int64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.sessions[id].expires = time.Now()
}

// agesTokens makes all tokens of the session issued so far invalid.
func (h *hospital) agesTokens(id int64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for n := range h.tokens {
		h.old[fmt.Sprintf("token %d of %d", n+1, id)] = true
	}
}

// admits returns the service's error for a session that has ended, or else for an old token.
func (h *hospital) admits(s *held, token string) error {
	if err := h.inactive(s); err != nil || !h.old[token] {
		return err
	}
	return &problem{Code: http.StatusUnauthorized, Message: "The session token has expired"}
}

func (h *hospital) inactive(s *held) error {
	why := s.ended
	if why == "" && !time.Now().Before(s.expires) {
		why = "the session expired at some time; open a new one"
	}
	if why == "" {
		return nil
	}
	return &problem{Code: http.StatusForbidden, Message: "The session is not active any more", Details: why}
}

func (h *hospital) active(report int64) *held {
	for _, s := range h.sessions {
		if s.report == report && h.inactive(s) == nil {
			return s
		}
	}
	return nil
}

func (h *hospital) create(_ context.Context, report int64, key string, in creation) (opened, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	id, again := h.keys[key]
	if !again {
		if s := h.active(report); s != nil && s.unused && !in.TakeOver {
			s.unused = false
			h.keys[key], id, again = s.id, s.id, true
		}
	}
	if !again {
		if s := h.active(report); s != nil {
			if !in.TakeOver {
				return opened{}, &problem{Code: http.StatusConflict, Message: "A session is already active"}
			}
			s.ended = "the session was taken over by someone"
		}
		id = int64(len(h.sessions)) + 1
		h.sessions[id] = &held{id: id, report: report, expires: time.Now().Add(h.ttl), begins: "https://link/" + in.Path}
		h.keys[key] = id
	}
	h.tokens++
	return opened{EditID: id, Token: fmt.Sprintf("token %d of %d", h.tokens, id), Template: h.sessions[id].begins}, nil
}

func (h *hospital) current(_ context.Context, report int64, _ string) (*revision, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if r := h.newest(report); r != nil {
		return &r.revision, nil
	}
	return nil, nil
}

// own returns the active session of the report, which always counts as the user's.
func (h *hospital) own(_ context.Context, report int64) (*ownSession, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	s := h.active(report)
	if s == nil {
		return nil, nil
	}
	own := &ownSession{Word: strings.TrimPrefix(s.begins, "https://link/"), Token: "token"}
	if r := h.newest(report); r != nil && r.EditID == s.id {
		own.Word = r.Word
	}
	return own, nil
}

func (h *hospital) newest(report int64) *saved {
	for i := len(h.revisions) - 1; i >= 0; i-- {
		if h.revisions[i].report == report {
			return &h.revisions[i]
		}
	}
	return nil
}

func (h *hospital) download(_ context.Context, link, path string) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	content := template
	for _, r := range h.revisions {
		if r.Link == link {
			content = r.content
		}
	}
	return os.WriteFile(path, []byte(content), 0o600)
}

func (h *hospital) heartbeat(_ context.Context, id int64, token string) (string, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	s := h.sessions[id]
	if err := h.admits(s, token); err != nil {
		return "", err
	}
	h.beats++
	s.expires = time.Now().Add(h.ttl)
	return token, nil
}

func (h *hospital) templates(context.Context) ([]wordTemplate, error) {
	return []wordTemplate{{ID: 1, Name: "Histology", Path: "t.docx"}}, nil
}

func (h *hospital) upload(_ context.Context, id int64, token string, f files) (string, error) {
	content, err := os.ReadFile(f.word)
	if err != nil {
		return "", err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if err := h.admits(h.sessions[id], token); err != nil {
		return "", err
	}
	if h.refusal != nil {
		return "", h.refusal
	}
	return h.save(id, string(content)), nil
}

func (h *hospital) save(id int64, content string) string {
	path := fmt.Sprintf("mem://%d/%d.docx", id, len(h.revisions)+1)
	h.revisions = append(h.revisions, saved{report: h.sessions[id].report, content: content,
		revision: revision{EditID: id, Word: path, Link: "https://link/" + path, IsCurrent: true}})
	return path
}

func (h *hospital) end(_ context.Context, id int64, _ string) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if s := h.sessions[id]; h.inactive(s) == nil {
		s.ended = "the session was ended by its author at some time; open a new one"
	}
	return nil
}

// somebodyElse takes the report over as another user, saves content and ends the session.
func (h *hospital) somebodyElse(report int64, content string) {
	s, _ := h.create(context.Background(), report, rand.Text(), creation{TakeOver: true})
	h.mu.Lock()
	defer h.mu.Unlock()
	h.save(s.EditID, content)
	h.sessions[s.EditID].ended = "the session was ended by its author"
}

// content returns the newest saved content of the report.
func (h *hospital) content(report int64) string {
	h.mu.Lock()
	defer h.mu.Unlock()
	if r := h.newest(report); r != nil {
		return r.content
	}
	return template
}
