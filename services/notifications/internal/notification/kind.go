package notification

import "encoding/json"

// Kind is a notification type of the platform.
type Kind struct {
	ID            int64
	Category      string
	Name          string
	Description   string
	UserCategory  string // org, lab_user or doctor: its addressee
	DefaultParams json.RawMessage
	Order         int
	Mandatory     bool // users cannot switch it off
	// Disabled reports whether the laboratory switched the type off; false for a mandatory type.
	Disabled bool
	// LabParams replace DefaultParams for the laboratory; nil: no replacement.
	LabParams json.RawMessage
}

// Wording returns the title and the body that the type or the laboratory chose. They are neutral: they name no patient.
func (k Kind) Wording() (title, body string) {
	var w struct {
		Title string `json:"title"`
		Body  string `json:"body"`
	}
	_ = json.Unmarshal(k.DefaultParams, &w) // invalid parameters of an operator must not stop the notification
	_ = json.Unmarshal(k.LabParams, &w)
	if w.Title == "" {
		w.Title = k.Description
	}
	return w.Title, w.Body
}

// CriticalReport is the type of critical results.
const CriticalReport = 2

// WordingFor returns the wording for a context. Escalations and corrections of a critical result have their own
// wording, which names no patient either. That of a correction holds for what was called, heard in an attempt or read.
func (k Kind) WordingFor(c Context) (title, body string) {
	title, body = k.Wording()
	if k.ID != CriticalReport {
		return title, body
	}
	switch {
	case c.Escalation > 0 && c.Unclear:
		return "A value may be critical", "A value cannot be compared with its critical limits. Open the board of callouts and check it."
	case c.Escalation > 0 && c.Unconfirmed:
		return "A critical rerun value waits", "No one has confirmed a critical rerun value yet. Open the board of callouts now."
	case c.Escalation > 0:
		return "Critical result waits for a call", "No one has called a critical result yet. Open the board of callouts now."
	case c.Corrected:
		return "A critical result was corrected",
			"A critical result that was reported is not valid any more. Do not act on it; open the report for its current values."
	}
	return title, body
}

// Preference is a type as one user has it.
type Preference struct {
	Kind
	// UserDisabled is the user's switch; nil: never set.
	UserDisabled *bool
}

// Effective reports whether the type is off for the user.
func (p Preference) Effective() (disabled bool) {
	return !p.Mandatory && p.UserDisabled != nil && *p.UserDisabled
}

// Switch turns a type on or off.
type Switch struct {
	TypeID   int64
	Disabled bool
}
