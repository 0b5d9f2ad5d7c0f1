package session

import (
	"encoding/json"
	"strconv"
)

// EventName is the kind of an event.
type EventName string

// Documented events.
const (
	Created           EventName = "session_created"
	Ended             EventName = "session_ended"
	AuthorshipChanged EventName = "authorship_changed"
	FilesUploaded     EventName = "files_uploaded"
)

// Event notifies browsers of a change of a session. It never contains a token or a download link.
type Event struct {
	Name     EventName
	Session  Session // state after the event
	Previous *Author // for AuthorshipChanged
}

// Channel returns the name of a report's real-time channel.
func Channel(reportID int64) string { return "external_edit_" + itoa(reportID) }

type eventJSON struct {
	Event   EventName `json:"event"`
	Channel string    `json:"channel"`
	Data    eventData `json:"data"`
}

type eventData struct {
	EditID             int64     `json:"edit_id"`
	ReportID           int64     `json:"lab_report_id"`
	LabID              int64     `json:"lab_id"`
	AuthorID           int64     `json:"author_id"`
	AuthorName         string    `json:"author_name"`
	IsActive           int       `json:"is_active"`
	Revision           int64     `json:"revision"`
	Word               string    `json:"word_file_path"`
	PDF                string    `json:"pdf_file_path"`
	UpdatedAt          int64     `json:"updated_at"`
	LastSavedAt        *int64    `json:"last_saved_at"`
	Reason             EndReason `json:"reason,omitempty"`
	PreviousAuthorID   *int64    `json:"previous_author_id,omitempty"`
	PreviousAuthorName *string   `json:"previous_author_name,omitempty"`
}

// JSON encodes the event for browsers.
func (e Event) JSON() ([]byte, error) {
	s := e.Session
	data := eventData{
		EditID: s.ID, ReportID: s.ReportID, LabID: s.LabID, AuthorID: s.Author.ID, AuthorName: s.Author.Name,
		Revision: s.Revision, Word: s.Files.Word, PDF: s.Files.PDF, UpdatedAt: s.UpdatedAt.UnixMilli(), Reason: s.End,
	}
	if s.End == Active {
		data.IsActive = 1
	}
	if !s.SavedAt.IsZero() {
		at := s.SavedAt.UnixMilli()
		data.LastSavedAt = &at
	}
	if e.Previous != nil {
		data.PreviousAuthorID, data.PreviousAuthorName = &e.Previous.ID, &e.Previous.Name
	}
	return json.Marshal(eventJSON{e.Name, Channel(s.ReportID), data})
}

func itoa(id int64) string { return strconv.FormatInt(id, 10) }
