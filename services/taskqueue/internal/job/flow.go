package job

// Flow is whose turn a job waits for: jobs of one flow wait in line, flows take turns. Laboratories have a flow
// each; so have their one-time passwords, and the platform's own calls to itself. It is part of the score in the
// lane, so a lane stays one sorted set whose flows are found without a list of them.
type Flow int

// The kinds of flows.
const (
	FlowUnknown  Flow = 0 // jobs whose stored form cannot be read
	FlowPlatform Flow = 1 // calls to the platform's internal origins
	firstOTP     Flow = 2
	FirstLab     Flow = 2048 // from here on ordinary flows; the ones before may use the reserved places
	flowCount    Flow = 4096
)

// FlowSpan is the width of a flow's part of the scores, and FlowEpoch the time (ms since 1970) at which it begins:
// twelve bits of flow and 41 of milliseconds are exactly what a score holds without rounding, until 2089.
const (
	FlowSpan  int64 = 1 << 41
	FlowEpoch int64 = 1_577_836_800_000
)

// LabFlow is the flow of a laboratory. More than 2,048 laboratories share flows with one another.
func LabFlow(lab int64) Flow { return FirstLab + flowOf(lab, flowCount-FirstLab) }

// OTPFlow is the flow of a laboratory's one-time passwords.
func OTPFlow(lab int64) Flow { return firstOTP + flowOf(lab, FirstLab-firstOTP) }

func flowOf(lab int64, flows Flow) Flow { return Flow(uint64(lab) % uint64(flows)) }

// Reserved reports whether the flow may use the places that are kept from ordinary ones.
func (f Flow) Reserved() bool { return f < FirstLab }

// Base is what the flow adds to a due time to make a score.
func (f Flow) Base() int64 { return int64(f)*FlowSpan - FlowEpoch }

// LatestDueMs is the latest time that a score can hold.
const LatestDueMs = FlowSpan - 1

// DueOfScore is the due time in a lane's score.
func DueOfScore(score int64) int64 { return score - Flow(score/FlowSpan).Base() }

// FlowOf reads the flow of a stored job.
func FlowOf(raw []byte) Flow {
	b, err := DecodeBody(raw)
	if err != nil || b.Flow < 0 || b.Flow >= flowCount {
		return FlowUnknown
	}
	return b.Flow
}
