package task_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/labplatform/labplatform/services/taskqueue/internal/phone"
	"github.com/labplatform/labplatform/services/taskqueue/internal/task"
)

// earlier returns the number that release 1.0.0 reads, which claims jobs of this release during an upgrade; empty if it
// cannot read the number, and the message fails.
func earlier(country, contact string) string {
	switch {
	case strings.Trim(country+contact, "0123456789") != "":
		return ""
	case country == "":
		return "+" + strings.TrimPrefix(contact, "00")
	case country == "39": // one of the countries whose numbers keep their leading zero
		return "+" + country + contact
	}
	return "+" + country + strings.TrimLeft(contact, "0")
}

// TestAStoredNumberIsReadAsTheNumberThatWasAccepted checks that a message goes to the telephone for which it was
// accepted. In Vietnam, mobile numbers with 084 begin with the calling code, and in some countries landline numbers are
// mobile numbers without their first digits. While an upgrade runs, a process of release 1.0.0 may send the message.
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
		if got := earlier(string(d.CountryCode), string(d.Contact)); got != to.E164() {
			t.Errorf("%s is stored as %s and sent to %q by release 1.0.0", number, stored, got)
		}
		if again := task.WithRecipient(stored, to); string(again) != string(stored) {
			t.Errorf("%s: stored again as %s, want it unchanged", stored, again)
		}
	}
}
