package withdraw

import "github.com/labplatform/labplatform/services/notifications/internal/notification"

// Facts is what holds about a notice when its withdrawal comes.
type Facts struct {
	// First is the answer that this withdrawal got before; nil: it comes for the first time.
	First *Answer
	// NotificationID is 0 when no notice has the key.
	NotificationID int64
	Message        notification.Message
	Read           bool // a receiver has read it
}

// Answer is the answer to a withdrawal.
type Answer struct{ Found, WasRead bool }

// Decision is what a withdrawal does.
type Decision struct {
	Answer

	Record bool // store the answer
	// NotificationID is 0 without a notice: the stored answer is a tombstone for one that arrives later.
	NotificationID int64
	// Reword is the text that replaces the notice's; nil: it stays.
	Reword *notification.Message
}

// Decide returns what a withdrawal does. A repetition changes nothing, and neither does one of a notice that is partly
// wrong. A notice that was read keeps its text, because its reader has to be told in a notice of its own.
func Decide(f Facts, reason notification.Reason) Decision {
	if f.First != nil {
		return Decision{Answer: *f.First}
	}
	if reason == notification.PartlyWrong {
		return Decision{Answer: Answer{Found: f.NotificationID != 0, WasRead: f.Read}}
	}
	d := Decision{
		Answer: Answer{Found: f.NotificationID != 0, WasRead: f.Read}, Record: true, NotificationID: f.NotificationID,
	}
	if reason == notification.Wrong && d.Found && !d.WasRead {
		text := f.Message.Withdrawn()
		d.Reword = &text
	}
	return d
}
