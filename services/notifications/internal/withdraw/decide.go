package withdraw

import "github.com/labplatform/labplatform/services/notifications/internal/notification"

// Facts holds the state of a notice at the time of its withdrawal.
type Facts struct {
	// First is the answer to an earlier request with this withdrawal; nil if this is the first one.
	First *Answer
	// NotificationID is 0 if no notice has the key.
	NotificationID int64
	Message        notification.Message
	Read           bool // a receiver has read the notice
}

// Answer is the response to a withdrawal.
type Answer struct{ Found, WasRead bool }

// Decision holds the changes that a withdrawal makes.
type Decision struct {
	Answer

	Record bool // store the answer
	// NotificationID is 0 if there is no notice yet: the stored answer then stops a notice that arrives later.
	NotificationID int64
	// Reword is the text that replaces the notice's text; nil if it stays.
	Reword *notification.Message
}

// Decide returns the changes of a withdrawal. A repetition changes nothing, nor does the withdrawal of a notice that is
// partly wrong. A notice that was read keeps its text, because its reader has to be informed by another notice.
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
