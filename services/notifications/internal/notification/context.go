package notification

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/labplatform/labplatform/pkg/apperr"
)

const maxContextBytes = 16 << 10

// Context is the context of a trigger: its addressees and the ids of its subject. Raw is the whole JSON object.
type Context struct {
	LabID, OrgID, DoctorID, LabUserID int64
	// ReportID (lrr_id) or BillID identifies the subject of the notification. Both are 0 if it has another subject.
	ReportID, BillID int64
	// Escalation is above 0 if a critical result has waited too long. Corrected is set if a critical result was wrong.
	Escalation int64
	Corrected  bool
	// Unclear is set if a value cannot be compared with its critical limits, Unconfirmed if a critical rerun value is not
	// confirmed. Both have an effect only if Escalation is above 0.
	Unclear, Unconfirmed bool
	// WithoutLab leaves out the laboratory's topic ("laboratory" is false), because it was informed already.
	WithoutLab bool
	// Title and Body replace the type's text in the inbox. Push messages never carry them.
	Title, Body string
	Raw         json.RawMessage
}

// ParseContext parses the JSON object of a trigger. lab_id is required. Ids are positive numbers, or digits in a
// string.
func ParseContext(raw []byte) (Context, error) {
	if len(raw) > maxContextBytes {
		return Context{}, apperr.InvalidField("context", "the context must have at most 16384 bytes")
	}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(raw, &fields); err != nil || fields == nil {
		return Context{}, apperr.InvalidField("context", "the body must be a JSON object with lab_id")
	}
	c := Context{}
	for name, target := range map[string]*int64{"lab_id": &c.LabID, "org_id": &c.OrgID, "doctor_id": &c.DoctorID,
		"lab_user_id": &c.LabUserID, "lrr_id": &c.ReportID, "bill_id": &c.BillID} {
		id, err := parseID(fields[name])
		if err != nil {
			return Context{}, apperr.InvalidField(name, name+" must be a positive integer")
		}
		*target = id
	}
	if c.LabID == 0 {
		return Context{}, apperr.InvalidField("lab_id", "lab_id is required")
	}
	if text, ok := fields["escalation"]; ok && (json.Unmarshal(text, &c.Escalation) != nil || c.Escalation < 0) {
		return Context{}, apperr.InvalidField("escalation", "escalation must be a number from 0")
	}
	for name, target := range map[string]*bool{
		"corrected": &c.Corrected, "unclear": &c.Unclear, "unconfirmed": &c.Unconfirmed,
	} {
		if text, ok := fields[name]; ok && json.Unmarshal(text, target) != nil {
			return Context{}, apperr.InvalidField(name, name+" must be true or false")
		}
	}
	if err := c.parseLaboratory(fields["laboratory"]); err != nil {
		return Context{}, err
	}
	for name, target := range map[string]*string{"title": &c.Title, "body": &c.Body} {
		if text, ok := fields[name]; ok && json.Unmarshal(text, target) != nil {
			return Context{}, apperr.InvalidField(name, name+" must be a string")
		}
	}
	var compact bytes.Buffer
	if err := json.Compact(&compact, raw); err != nil {
		return Context{}, apperr.InvalidField("context", "the body must be a JSON object with lab_id")
	}
	c.Raw = compact.Bytes()
	return c, nil
}

// parseLaboratory parses whether the laboratory is informed. The default is true.
func (c *Context) parseLaboratory(text json.RawMessage) error {
	told := true
	if text != nil && json.Unmarshal(text, &told) != nil {
		return apperr.InvalidField("laboratory", "laboratory must be true or false")
	}
	if !told && c.Escalation > 0 {
		return apperr.InvalidField("laboratory", "laboratory must not be false for an escalation, which is for the laboratory only")
	}
	c.WithoutLab = !told
	return nil
}

func parseID(raw json.RawMessage) (int64, error) {
	text := string(bytes.TrimSpace(raw))
	if text == "" || text == "null" {
		return 0, nil
	}
	var quoted string
	if json.Unmarshal(raw, &quoted) == nil {
		text = quoted
	}
	id, err := strconv.ParseInt(text, 10, 64)
	if err != nil || id <= 0 {
		return 0, fmt.Errorf("not an id")
	}
	return id, nil
}

// Addressed returns the context with its final addressees. An escalation goes to the laboratory only, because the delay
// is the laboratory's.
func (c Context) Addressed() Context {
	if c.Escalation > 0 {
		c.OrgID, c.DoctorID = 0, 0
	}
	return c
}

// Subject returns the subject of the notification, by which repeats are recognized; "" without one.
func (c Context) Subject() string {
	switch {
	case c.ReportID > 0:
		return fmt.Sprintf("report:%d", c.ReportID)
	case c.BillID > 0:
		return fmt.Sprintf("bill:%d", c.BillID)
	}
	return ""
}

// Data returns the part of the context that the inbox shows: all fields except the texts, "laboratory" and, for an
// escalation, the organization and the doctor.
func (c Context) Data() json.RawMessage {
	var fields map[string]json.RawMessage
	if json.Unmarshal(c.Raw, &fields) != nil {
		return json.RawMessage("{}")
	}
	if c.Escalation > 0 {
		delete(fields, "org_id")
		delete(fields, "doctor_id")
	}
	delete(fields, "laboratory")
	delete(fields, "title")
	delete(fields, "body")
	data, err := json.Marshal(fields)
	if err != nil {
		return json.RawMessage("{}")
	}
	return data
}
