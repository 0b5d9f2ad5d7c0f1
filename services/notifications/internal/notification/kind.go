package notification

import "encoding/json"

// Kind is a notification type of the platform.
type Kind struct {
	ID            int64
	Category      string
	Name          string
	Description   string
	UserCategory  string // kind of addressee: org, lab_user or doctor
	DefaultParams json.RawMessage
	Order         int
	Mandatory     bool // users cannot switch it off
	// Disabled is set if the laboratory switched the type off. It is false for a mandatory type.
	Disabled bool
	// LabParams replaces DefaultParams for the laboratory; nil means no replacement.
	LabParams json.RawMessage
}

// Wording returns the title and the body that the type or the laboratory defines. They do not identify a patient.
func (k Kind) Wording() (title, body string) {
	var w struct {
		Title string `json:"title"`
		Body  string `json:"body"`
	}
	_ = json.Unmarshal(k.DefaultParams, &w) // invalid parameters must not stop the notification
	_ = json.Unmarshal(k.LabParams, &w)
	if w.Title == "" {
		w.Title = k.Description
	}
	return w.Title, w.Body
}

const (
	// ReportReady is the id of the type for reports of an organization that are ready.
	ReportReady = 1
	// CriticalReport is the id of the type for critical results.
	CriticalReport = 2
)

// WordingFor returns the title and the body for a context. Escalations and corrections of a critical result have their
// own texts, which do not identify a patient either. The text of a correction fits values that were called, heard in an
// attempt, or read.
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

// Preference is a type with the switch of one user.
type Preference struct {
	Kind
	// UserDisabled is the user's switch; nil if never set.
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
