package notification

import (
	"encoding/json"

	"github.com/labplatform/labplatform/pkg/apperr"
)

// Reason is the reason for which a notice is withdrawn.
type Reason string

// Reasons of a withdrawal.
const (
	Called Reason = "called" // a clinician was informed, so a push is no longer needed; the text stays true
	Wrong  Reason = "wrong"  // the notice stopped being true
	// PartlyWrong means that one of several values is no longer true. The notice stays, and its readers are informed.
	PartlyWrong Reason = "partly_wrong"
)

// ParseReason returns the reason with that name, or an error.
func ParseReason(text string) (Reason, error) {
	switch r := Reason(text); r {
	case Called, Wrong, PartlyWrong:
		return r, nil
	}
	return "", apperr.InvalidField("reason", "reason must be called, wrong or partly_wrong")
}

const withdrawnBody = "This notice does not apply any more. Do not act on it; open the report for its current values."

// Withdrawn returns the text that replaces that of a wrong notice. Its data has withdrawn set to true.
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
