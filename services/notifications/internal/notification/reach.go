package notification

// Unreachable is why no device receives a notice; "" when one does.
type Unreachable string

// The reasons. The first one that holds is reported.
const (
	TypeOff  Unreachable = "type_off"  // the laboratory switched the type off
	PushOff  Unreachable = "push_off"  // the deployment sends no push messages
	NoDevice Unreachable = "no_device" // no registered device is subscribed to a topic of the notice
	// Waits: the task queue has no provider for push messages, or an operator paused them. They are sent later.
	Waits Unreachable = "push_waits"
)

// Reach is what decides whether a notice reaches a device.
type Reach struct {
	TypeOff, PushOff bool
	Device           bool // a device is subscribed
	Waits            bool // push messages wait for the task queue
}

// Unreachable returns why the notice reaches no device.
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
