package notify

// Sending is what holds about a notification when its push goes out. The push was decided when the notification was
// stored, perhaps hours before.
type Sending struct {
	Withdrawn bool
	TypeOff   bool // the laboratory switched the type off
}

// Stop is why a push is not sent; "" when it is.
type Stop string

// The reasons. The first one that holds is reported.
const (
	StopWithdrawn Stop = "withdrawn"
	StopTypeOff   Stop = "type_off"
)

// Stops lists all reasons, for metrics.
func Stops() []Stop { return []Stop{StopWithdrawn, StopTypeOff} }

// Stop returns why the push is not sent.
func (s Sending) Stop() Stop {
	switch {
	case s.Withdrawn:
		return StopWithdrawn
	case s.TypeOff:
		return StopTypeOff
	}
	return ""
}
