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

// EndReason is the reason why a session ended.
type EndReason string

// Reasons. An active session has none.
const (
	Active    EndReason = ""
	ByAuthor  EndReason = "author"
	Expired   EndReason = "expired"
	TakenOver EndReason = "taken_over"
	ByAdmin   EndReason = "admin"
)

// Session is one editing session. Times are in milliseconds.
type Session struct {
	ID        int64
	LabID     int64
	ReportID  int64
	PatientID int64 // patient of the report when the session began; 0 in sessions of earlier versions
	Moved     bool  // the report belongs to another person now
	// ConfirmedAt is when values of the report were last confirmed after a rerun, if since the session began; otherwise
	// zero.
	ConfirmedAt time.Time
	TemplateID  int64
	Template    string // URL of the Word file with which the session began
	Files       Files  // files of the linked save; before the first save, the template only
	TokenID     string
	Author      Author
	Listed      bool   // the platform's list of users permitted the author to edit when the session began
	Login       []byte // sealed login that decides about an author who is not Listed; nil if no login is checked
	Revision    int64  // number of the linked save; 0 before the first
	Reserved    int64  // highest number assigned to an upload
	CreatedAt   time.Time
	UpdatedAt   time.Time
	SavedAt     time.Time // time of the linked save; zero before the first
	ExpiresAt   time.Time
	EndedAt     time.Time // zero while the session was not closed
	End         EndReason
	EndedBy     string // name of the user who took it over
	Zone        string // time zone of the laboratory, as stored; for texts that people read
}

// ends lists the permitted transitions: an active session ends once and is never reopened.
var ends = map[EndReason]map[EndReason]bool{
	Active: {ByAuthor: true, Expired: true, TakenOver: true, ByAdmin: true},
}

// IsActive reports whether the session is open at now. An expired session is not active, even if it was not closed yet.
func (s *Session) IsActive(now time.Time) bool { return s.End == Active && now.Before(s.ExpiresAt) }

// HasExpired reports whether the session has expired but was not closed.
func (s *Session) HasExpired(now time.Time) bool { return s.End == Active && !now.Before(s.ExpiresAt) }

// IsUnused reports whether no desktop client has used the session. It was then opened on the page, and its author's
// client may continue it.
func (s *Session) IsUnused() bool { return s.Reserved == 0 && s.UpdatedAt.Equal(s.CreatedAt) }

// Continue marks an unused session as used by a desktop client, and extends it.
func (s *Session) Continue(now time.Time, l Lifetime) {
	if !now.After(s.CreatedAt) { // UpdatedAt must differ from CreatedAt
		now = s.CreatedAt.Add(time.Millisecond)
	}
	s.Extend(now, l)
}

// Close ends the session. It returns an error if the session has ended already.
func (s *Session) Close(reason EndReason, now time.Time) error {
	if !ends[s.End][reason] {
		return s.inactive()
	}
	s.End, s.EndedAt, s.UpdatedAt = reason, now, now
	return nil
}

// Lifetime limits the duration of sessions.
type Lifetime struct {
	Idle time.Duration // without a heartbeat or save
	Most time.Duration // in total
}

func (l Lifetime) until(created, now time.Time) time.Time {
	idle, most := now.Add(l.Idle), created.Add(l.Most)
	if most.Before(idle) {
		return most
	}
	return idle
}

// Extend postpones the expiry, which counts from now. It never moves the expiry earlier.
func (s *Session) Extend(now time.Time, l Lifetime) {
	if until := l.until(s.CreatedAt, now); until.After(s.ExpiresAt) {
		s.ExpiresAt = until
	}
	s.UpdatedAt = now
}

// CheckActive returns an error that states how the session ended, unless it is active.
func (s *Session) CheckActive(now time.Time) error {
	if s.IsActive(now) {
		return nil
	}
	return s.inactive()
}

// CheckPatient returns an error if the report belongs to another person since the session began.
func (s *Session) CheckPatient() error {
	if s.Moved {
		return ErrOtherPatient
	}
	return nil
}

// Warnings returns what an author has to check in a document with which this session began or that it saved. The
// service does not read the values in documents.
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

// stamp formats a time for people of the laboratory.
func (s *Session) stamp(t time.Time) string {
	zone, ok := labtime.Zone(s.Zone)
	if !ok {
		zone = labtime.Default()
	}
	return t.In(zone).Format("2 January 2006 15:04 MST")
}

// Opening holds the initial data of a session.
type Opening struct {
	LabID, ReportID, PatientID, TemplateID int64
	Template                               string
	TokenID                                string
	Author                                 Author
	Listed                                 bool
	Login                                  []byte
}

// Open returns a new active session. Its id is not set.
func Open(o Opening, now time.Time, l Lifetime) Session {
	return Session{
		LabID: o.LabID, ReportID: o.ReportID, PatientID: o.PatientID,
		TemplateID: o.TemplateID, Template: o.Template, Files: Files{Word: o.Template},
		TokenID: o.TokenID, Author: o.Author, Listed: o.Listed, Login: o.Login,
		CreatedAt: now, UpdatedAt: now, ExpiresAt: l.until(now, now),
	}
}
