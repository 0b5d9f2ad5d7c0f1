package notification

// Unreachable is the reason why a notice reaches no device; "" if it reaches one.
type Unreachable string

// Reasons. If several apply, the first one is reported.
const (
	TypeOff  Unreachable = "type_off"  // the laboratory switched the type off
	PushOff  Unreachable = "push_off"  // the deployment sends no push messages
	NoDevice Unreachable = "no_device" // no registered device is subscribed to a topic of the notice
	// Waits means that the task queue has no provider for push messages, or that an operator paused them. They are sent
	// later.
	Waits Unreachable = "push_waits"
)

// Reach holds what determines whether a notice reaches a device.
type Reach struct {
	TypeOff, PushOff bool
	Device           bool // a device is subscribed to a topic of the notice
	Waits            bool // push messages wait in the task queue or the outbox
}

// Unreachable returns why the notice reaches no device; "" if it reaches one.
func (r Reach) Unreachable() Unreachable {
	switch {
	case r.TypeOff:
		return TypeOff
	case r.PushOff:
		return PushOff
	case !r.Device:
		return NoDevice
	case r.Waits:
		return Waits
	}
	return ""
}
