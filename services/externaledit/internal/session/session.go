package session

import (
	"time"

	"github.com/labplatform/labplatform/pkg/apperr"
	"github.com/labplatform/labplatform/pkg/lab/labtime"
)

// Files names a Word document and its PDF by the URLs of their objects.
type Files struct {
	Word, PDF string
}

// EndReason tells why a session ended.
type EndReason string

// The reasons. A session that has none is active.
const (
	Active    EndReason = ""
	ByAuthor  EndReason = "author"
	Expired   EndReason = "expired"
	TakenOver EndReason = "taken_over"
	ByAdmin   EndReason = "admin"
)

// Session is one editing session. Times have milliseconds.
type Session struct {
	ID        int64
	LabID     int64
	ReportID  int64
	PatientID int64 // of the report when the session began; 0 in sessions of earlier versions
	Moved     bool  // the report belongs to another person than it did then
	// ConfirmedAt is when values of the report were confirmed after a rerun since the session began, zero without.
	ConfirmedAt time.Time
	TemplateID  int64
	Template    string // the URL of the Word file that the session began with
	Files       Files  // of the linked save; before the first save the template alone
	TokenID     string
	Author      Author
	Listed      bool   // the platform's list of users said at the beginning that the author may edit
	Login       []byte // sealed: the login that decides about an author who is not listed; nil when none is asked
	Revision    int64  // the linked save, 0 before the first
	Reserved    int64  // the highest number that was given to an upload
	CreatedAt   time.Time
	UpdatedAt   time.Time
	SavedAt     time.Time // of the linked save, zero before the first
	ExpiresAt   time.Time
	EndedAt     time.Time // zero while active
	End         EndReason
	EndedBy     string // who took it over
	Zone        string // of the laboratory, as its row has it; for what people read
}

// ends is the transition table: an active session ends once, and nothing revives it.
var ends = map[EndReason]map[EndReason]bool{
	Active: {ByAuthor: true, Expired: true, TakenOver: true, ByAdmin: true},
}

// IsActive reports whether the session is open at now. An expired one is not, whether or not it was closed yet.
func (s *Session) IsActive(now time.Time) bool { return s.End == Active && now.Before(s.ExpiresAt) }

// HasExpired reports whether the session is still to be closed because no one showed a sign of life.
func (s *Session) HasExpired(now time.Time) bool { return s.End == Active && !now.Before(s.ExpiresAt) }

// IsUnused reports whether no desktop client has worked in the session: it was opened on the page, and its author's
// client may continue it.
func (s *Session) IsUnused() bool { return s.Reserved == 0 && s.UpdatedAt.Equal(s.CreatedAt) }

// Continue has a desktop client work in an unused session: it is not unused any more.
func (s *Session) Continue(now time.Time, l Lifetime) {
	if !now.After(s.CreatedAt) { // times have milliseconds
		now = s.CreatedAt.Add(time.Millisecond)
	}
	s.Extend(now, l)
}

// Close ends the session. It returns an error for a session that has ended.
func (s *Session) Close(reason EndReason, now time.Time) error {
	if !ends[s.End][reason] {
		return s.inactive()
	}
	s.End, s.EndedAt, s.UpdatedAt = reason, now, now
	return nil
}

// Lifetime is how long sessions live.
type Lifetime struct {
	Idle time.Duration // without a sign of life
	Most time.Duration // whatever the signs of life
}

func (l Lifetime) until(created, now time.Time) time.Time {
	idle, most := now.Add(l.Idle), created.Add(l.Most)
	if most.Before(idle) {
		return most
	}
	return idle
}

// Extend lets the session live on: the time counts from the last sign of life. It never shortens it.
func (s *Session) Extend(now time.Time, l Lifetime) {
	if until := l.until(s.CreatedAt, now); until.After(s.ExpiresAt) {
		s.ExpiresAt = until
	}
	s.UpdatedAt = now
}

// CheckActive refuses work in a session that has ended, and tells how it did.
func (s *Session) CheckActive(now time.Time) error {
	if s.IsActive(now) {
		return nil
	}
	return s.inactive()
}

// CheckPatient refuses the documents of a session whose report belongs to another person since.
func (s *Session) CheckPatient() error {
	if s.Moved {
		return ErrOtherPatient
	}
	return nil
}

// Warnings are what the author of a document that this session began with or saved has to check in it. The service does
// not read values in documents.
func (s *Session) Warnings() []string {
	if s.ConfirmedAt.IsZero() {
		return nil
	}
	return []string{"Values of this report were confirmed after a rerun at " + s.stamp(s.ConfirmedAt) +
		", after this document was opened: check that it states the confirmed values"}
}

func (s *Session) inactive() *apperr.Error {
	switch s.End {
	case TakenOver:
		by := ""
		if s.EndedBy != "" {
			by = " by " + s.EndedBy
		}
		return ErrInactive.WithDetails("the session was taken over" + by + " at " + s.stamp(s.EndedAt) +
			"; keep the document and ask who took over")
	case ByAuthor:
		return ErrInactive.WithDetails("the session was ended by its author at " + s.stamp(s.EndedAt) + "; open a new one")
	case ByAdmin:
		return ErrInactive.WithDetails("the session was ended by an administrator at " + s.stamp(s.EndedAt) +
			"; open a new one")
	}
	return ErrInactive.WithDetails("the session expired at " + s.stamp(s.ExpiresAt) + "; open a new one")
}

// stamp is a time as people of the laboratory read it.
func (s *Session) stamp(t time.Time) string {
	zone, ok := labtime.Zone(s.Zone)
	if !ok {
		zone = labtime.Default()
	}
	return t.In(zone).Format("2 January 2006 15:04 MST")
}

// Opening is what a new session begins with.
type Opening struct {
	LabID, ReportID, PatientID, TemplateID int64
	Template                               string
	TokenID                                string
	Author                                 Author
	Listed                                 bool
	Login                                  []byte
}

// Open returns a new active session without an id.
func Open(o Opening, now time.Time, l Lifetime) Session {
	return Session{
		LabID: o.LabID, ReportID: o.ReportID, PatientID: o.PatientID,
		TemplateID: o.TemplateID, Template: o.Template, Files: Files{Word: o.Template},
		TokenID: o.TokenID, Author: o.Author, Listed: o.Listed, Login: o.Login,
		CreatedAt: now, UpdatedAt: now, ExpiresAt: l.until(now, now),
	}
}
