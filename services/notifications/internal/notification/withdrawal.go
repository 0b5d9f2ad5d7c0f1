package notification

import (
	"encoding/json"

	"github.com/labplatform/labplatform/pkg/apperr"
)

// Reason is why a notice is withdrawn.
type Reason string

// The reasons.
const (
	Called Reason = "called" // a clinician was informed: a push is no longer needed, and the text stays true
	Wrong  Reason = "wrong"  // the notice stopped being true
	// PartlyWrong is a notice of which one of several values stopped being true. It stays as it is: its readers are told.
	PartlyWrong Reason = "partly_wrong"
)

// ParseReason returns the reason of that name and refuses other texts.
func ParseReason(text string) (Reason, error) {
	switch r := Reason(text); r {
	case Called, Wrong, PartlyWrong:
		return r, nil
	}
	return "", apperr.InvalidField("reason", "reason must be called, wrong or partly_wrong")
}

const withdrawnBody = "This notice does not apply any more. Do not act on it; open the report for its current values."

// Withdrawn returns the text that replaces a notice which stopped being true. Its data has withdrawn true.
func (m Message) Withdrawn() Message {
	data := map[string]json.RawMessage{}
	if json.Unmarshal(m.Data, &data) != nil || data == nil {
		data = map[string]json.RawMessage{}
	}
	data["withdrawn"] = json.RawMessage("true")
	document, err := json.Marshal(data)
	if err != nil {
		document = json.RawMessage(`{"withdrawn":true}`)
	}
	return Message{Title: "Withdrawn: " + m.Title, Body: withdrawnBody, Data: document}
}
