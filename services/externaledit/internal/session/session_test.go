package session_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/labplatform/labplatform/pkg/apperr"
	"github.com/labplatform/labplatform/services/externaledit/internal/session"
)

var now = time.Date(2026, 11, 22, 8, 0, 0, 0, time.UTC)

const day = 24 * time.Hour

func opened() session.Session {
	s := session.Open(session.Opening{LabID: 12, ReportID: 7001, TemplateID: 1, Template: "mem://t.docx", TokenID: "t",
		Author: session.Author{ID: 77, Name: "Dr. Smith"}}, now, session.Lifetime{Idle: time.Hour, Most: day})
	s.ID = 123
	return s
}

func TestASessionEndsOnce(t *testing.T) {
	t.Parallel()
	for _, reason := range []session.EndReason{session.ByAuthor, session.Expired, session.TakenOver, session.ByAdmin} {
		s := opened()
		if err := s.Close(reason, now); err != nil || s.IsActive(now) {
			t.Errorf("%s: %v", reason, err)
		}
		for _, again := range []session.EndReason{session.Active, session.ByAuthor, session.Expired} {
			if err := s.Close(again, now); !apperr.Is(err, apperr.Forbidden) || s.End != reason {
				t.Errorf("%s then %q: %v", reason, again, err)
			}
		}
	}
	s := opened()
	if err := s.Close(session.Active, now); err == nil {
		t.Error("a session was closed without a reason")
	}
}

func TestASignOfLifeNeverShortensASession(t *testing.T) {
	t.Parallel()
	s := opened()
	s.Extend(now, session.Lifetime{Idle: time.Minute, Most: day}) // shorter than when the session was opened
	if !s.ExpiresAt.Equal(now.Add(time.Hour)) {
		t.Errorf("expires at %v", s.ExpiresAt)
	}
	s.Extend(now.Add(time.Minute), session.Lifetime{Idle: time.Hour, Most: day})
	if !s.ExpiresAt.Equal(now.Add(time.Hour + time.Minute)) {
		t.Errorf("expires at %v", s.ExpiresAt)
	}
}

// TestTimesAreThoseOfTheLaboratory checks the times in texts for authors.
func TestTimesAreThoseOfTheLaboratory(t *testing.T) {
	t.Parallel()
	for zone, want := range map[string]string{
		"Europe/Berlin": "22 November 2026 10:00 CET", "Asia/Kathmandu": "22 November 2026 14:45 +0545",
		"nowhere": "22 November 2026 14:30 Asia/Kolkata",
	} {
		s := opened()
		s.Zone = zone
		err := s.CheckActive(now.Add(time.Hour))
		if e, _ := apperr.From(err); e == nil || !strings.Contains(e.Details, "the session expired at "+want+";") {
			t.Errorf("%s: %v, want %s", zone, err, want)
		}
	}
}

func TestNoSignOfLifeKeepsASessionForLongerThanADay(t *testing.T) {
	t.Parallel()
	s := opened()
	for at := now; at.Before(now.Add(2 * day)); at = at.Add(time.Minute) {
		if s.IsActive(at) {
			s.Extend(at, session.Lifetime{Idle: time.Hour, Most: day})
		}
	}
	if !s.ExpiresAt.Equal(now.Add(day)) {
		t.Errorf("expires at %v", s.ExpiresAt)
	}
}

func TestAnOlderSaveIsNotLinked(t *testing.T) {
	t.Parallel()
	s := opened()
	newer := session.Revision{Number: 2, Word: session.Stored{URL: "w2"}, PDF: session.Stored{URL: "p2"}, UploadedAt: now}
	older := session.Revision{Number: 1, Word: session.Stored{URL: "w1"}, PDF: session.Stored{URL: "p1"}, UploadedAt: now}
	if !s.Link(&newer, now) || s.Link(&older, now) || s.Files != newer.Files() || s.Revision != 2 {
		t.Errorf("%+v", s)
	}
}

func TestEventsAreTheDocumentedOnes(t *testing.T) {
	t.Parallel()
	saved := opened()
	saved.Link(&session.Revision{Number: 3, Word: session.Stored{URL: "w"}, PDF: session.Stored{URL: "p"},
		UploadedAt: now.Add(time.Second)}, now.Add(time.Second))
	ended := saved
	if err := ended.Close(session.Expired, now.Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	for want, event := range map[string]session.Event{
		`{"event":"session_created","channel":"external_edit_7001","data":{"edit_id":123,"lab_report_id":7001,"lab_id":12,` +
			`"author_id":77,"author_name":"Dr. Smith","is_active":1,"revision":0,"word_file_path":"mem://t.docx",` +
			`"pdf_file_path":"","updated_at":1795334400000,"last_saved_at":null}}`: {Name: session.Created, Session: opened()},
		`{"event":"files_uploaded","channel":"external_edit_7001","data":{"edit_id":123,"lab_report_id":7001,"lab_id":12,` +
			`"author_id":77,"author_name":"Dr. Smith","is_active":1,"revision":3,"word_file_path":"w","pdf_file_path":"p",` +
			`"updated_at":1795334401000,"last_saved_at":1795334401000}}`: {Name: session.FilesUploaded, Session: saved},
		`{"event":"session_ended","channel":"external_edit_7001","data":{"edit_id":123,"lab_report_id":7001,"lab_id":12,` +
			`"author_id":77,"author_name":"Dr. Smith","is_active":0,"revision":3,"word_file_path":"w","pdf_file_path":"p",` +
			`"updated_at":1795334460000,"last_saved_at":1795334401000,"reason":"expired"}}`: {Name: session.Ended,
			Session: ended},
		`{"event":"authorship_changed","channel":"external_edit_7001","data":{"edit_id":123,"lab_report_id":7001,"lab_id":12,` +
			`"author_id":77,"author_name":"Dr. Smith","is_active":1,"revision":0,"word_file_path":"mem://t.docx",` +
			`"pdf_file_path":"","updated_at":1795334400000,"last_saved_at":null,"previous_author_id":78,` +
			`"previous_author_name":"Dr. Rao"}}`: {Name: session.AuthorshipChanged, Session: opened(),
			Previous: &session.Author{ID: 78, Name: "Dr. Rao"}},
	} {
		got, err := event.JSON()
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, string(got)); diff != "" {
			t.Error(diff)
		}
	}
}
