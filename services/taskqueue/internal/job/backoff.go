package job

import "time"

// DefaultRetry is the number of retries of a task without a setting. MaxRetry is the documented limit. CallbackRetry is
// the number of retries of a callback.
const (
	DefaultRetry  = 3
	MaxRetry      = 10
	CallbackRetry = 3
)

// RevivalDelay is the documented delay of a job after /retryTask/.
const RevivalDelay = 2 * time.Minute

const (
	firstDelay  = 5 * time.Second
	delayFactor = 4
	maxDelay    = 10 * time.Minute
)

var callbackDelays = [CallbackRetry]time.Duration{5 * time.Second, 5 * time.Minute, 30 * time.Minute}

// Backoff returns the delay before the next attempt of a job of channel c after failed attempts (at least 1). roll is a
// random number in [0,1) that spreads the delay by ±20 %. A receiver's Retry-After is respected from once to twice the
// unspread delay.
func Backoff(c Channel, failed int, roll float64, retryAfter time.Duration) time.Duration {
	base := taskDelay(failed)
	if c == Callback {
		base = callbackDelays[min(max(failed, 1), CallbackRetry)-1]
	}
	spread := time.Duration(float64(base) * (0.8 + 0.4*roll))
	if retryAfter > spread {
		return min(retryAfter, 2*base)
	}
	return spread
}

// Time that a job waits for a receiver that fails repeatedly, in addition to the delays of its attempts. It is shorter
// than the promised quarter of an hour, because the last pause counts as well.
const (
	taskPatience     = 10 * time.Minute
	callbackPatience = time.Hour
)

// RecoveryPatience returns how long after its due time a job of channel c may still be postponed for a receiver that
// fails repeatedly. failed is the number of the job's failed attempts. Afterwards each pause counts as an attempt, so
// that the job ends.
func RecoveryPatience(c Channel, failed int) time.Duration {
	patience := taskPatience
	if c == Callback {
		patience = callbackPatience
	}
	const unspread = 0.5
	for n := 1; n <= failed; n++ {
		patience += Backoff(c, n, unspread, 0)
	}
	return patience
}

func taskDelay(failed int) time.Duration {
	d := firstDelay
	for i := 1; i < failed && d < maxDelay; i++ {
		d *= delayFactor
	}
	return min(d, maxDelay)
}

// Maximum durations of an attempt: the longest webhook timeout with a margin; the longest session with a mail server,
// plus the ten minutes that it may take to accept the complete message.
const (
	longestRun     = 330 * time.Second
	longestMailRun = 16 * time.Minute
)

// LongestRun returns how long an attempt of channel c may take before its lease ends.
func LongestRun(c Channel) time.Duration {
	if c == Email {
		return longestMailRun
	}
	return longestRun
}
