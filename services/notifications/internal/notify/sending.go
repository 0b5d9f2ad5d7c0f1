package notify

// Sending is the present state of a notification when its push message is about to be sent, which may be hours after
// the notification was stored.
type Sending struct {
	Withdrawn bool
	TypeOff   bool // the laboratory switched the type off
	NotReady  bool // the report that the notification calls ready was dismissed, or is being measured again
}

// Stop is the reason why a push message is not sent; "" if it is sent.
type Stop string

// Reasons. If several apply, the first one is reported.
const (
	StopWithdrawn Stop = "withdrawn"
	StopTypeOff   Stop = "type_off"
	StopNotReady  Stop = "not_ready"
)

// Stops returns all reasons, for metrics.
func Stops() []Stop { return []Stop{StopWithdrawn, StopTypeOff, StopNotReady} }

// Stop returns why the push message is not sent; "" if it is sent.
func (s Sending) Stop() Stop {
	switch {
	case s.Withdrawn:
		return StopWithdrawn
	case s.TypeOff:
		return StopTypeOff
	case s.NotReady:
		return StopNotReady
	}
	return ""
}
