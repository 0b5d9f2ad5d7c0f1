package seed

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Session is one login. ID is the value of the cookie. Fields is the JSON that the services read from Redis; created_at
// may be missing and is then the time of writing.
type Session struct {
	ID     string
	Fields map[string]json.RawMessage
}

// sessionDefaults returns the JSON values of fields that a fixture omits. session_type has no default.
func sessionDefaults() map[string]string {
	return map[string]string{
		"session_type": "", "lab_id": "null", "branch_id": "null", "org_id": "null", "cc_id": "null",
		"lab_user_id": "null", "username": `""`, "full_name": `""`, "doctor_id": "null", "doc_type": "null",
		"department_data_type": "0", "department_ids": "[]", "permissions": "[]", "is_global_admin": "false",
		"created_at": "",
	}
}

// sessionTypes are the valid values of session_type.
var sessionTypes = []string{"lab_user", "doctor", "support", "organization", "collection_center"}

func parseSessions(in []map[string]json.RawMessage) ([]Session, error) {
	sessions := make([]Session, 0, len(in))
	for i, raw := range in {
		session, err := parseSession(raw)
		if err != nil {
			return nil, fmt.Errorf("sessions[%d]: %w", i, err)
		}
		sessions = append(sessions, session)
	}
	return sessions, nil
}

func parseSession(raw map[string]json.RawMessage) (Session, error) {
	var id, kind string
	if err := json.Unmarshal(raw["id"], &id); err != nil || id == "" {
		return Session{}, fmt.Errorf("id, the value of the cookie, is required")
	}
	if err := json.Unmarshal(raw["session_type"], &kind); err != nil || !slices.Contains(sessionTypes, kind) {
		return Session{}, fmt.Errorf("session_type is required: one of %s", strings.Join(sessionTypes, ", "))
	}
	fields := map[string]json.RawMessage{}
	for name, value := range sessionDefaults() {
		if given, ok := raw[name]; ok {
			fields[name] = given
		} else if value != "" {
			fields[name] = json.RawMessage(value)
		}
	}
	for name := range raw {
		if _, known := sessionDefaults()[name]; !known && name != "id" {
			return Session{}, fmt.Errorf("unknown field %q", name)
		}
	}
	return Session{ID: id, Fields: fields}, nil
}

// Key returns the session's key in Redis.
func (s Session) Key() string { return "session:" + s.ID }

// Value returns the JSON that the services read. now becomes created_at when the fixture has none.
func (s Session) Value(now time.Time) (string, error) {
	fields := make(map[string]json.RawMessage, len(s.Fields)+1)
	fields["created_at"] = json.RawMessage(fmt.Sprint(now.Unix()))
	for name, value := range s.Fields {
		fields[name] = value
	}
	text, err := json.Marshal(fields)
	if err != nil {
		return "", fmt.Errorf("session %s: %w", s.ID, err)
	}
	return string(text), nil
}
