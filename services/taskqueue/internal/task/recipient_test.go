package task_test

import (
	"encoding/json"
	"testing"

	"github.com/labplatform/labplatform/services/taskqueue/internal/phone"
	"github.com/labplatform/labplatform/services/taskqueue/internal/task"
)

// TestAStoredNumberIsReadAsTheNumberThatWasAccepted checks that a message goes to the telephone for which it was
// accepted. In Vietnam, mobile numbers with 084 begin with the calling code, and in some countries landline numbers are
// mobile numbers without their first digits.
func TestAStoredNumberIsReadAsTheNumberThatWasAccepted(t *testing.T) {
	t.Parallel()
	for _, number := range []string{"+84846969423", "+84848045743", "+6262883507754", "+38338345346127", "+358358473806",
		"+919812345678", "+390612345678", "+78121234567"} {
		to, err := phone.Parse(0, number)
		if err != nil {
			t.Fatalf("%s: %v", number, err)
		}
		stored := task.WithRecipient([]byte(`{"contact":"`+number+`","message":"m"}`), to)
		var d task.SMS
		if err := json.Unmarshal(stored, &d); err != nil {
			t.Fatal(err)
		}
		if got, err := d.Accepted(); err != nil || got != to {
			t.Errorf("%s is stored as %s and sent to %s, %v", number, stored, got.E164(), err)
		}
		if again := task.WithRecipient(stored, to); string(again) != string(stored) {
			t.Errorf("%s: stored again as %s, want it unchanged", stored, again)
		}
	}
}
