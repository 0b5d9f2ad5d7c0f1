package job

// Flow is the unit of fairness, as in Kubernetes API Priority and Fairness: jobs of one flow wait in line, and flows
// take turns. Each laboratory has a flow for ordinary jobs, one for one-time passwords and one for urgent notices; the
// platform's calls to itself have their own flow. The flow is part of the score in the lane, so that a single sorted
// set holds all flows of a lane.
type Flow int

// Ranges of flow numbers: two single flows, then one-time passwords and urgent notices by laboratory, then ordinary
// jobs.
const (
	FlowUnknown  Flow = 0 // jobs whose stored form cannot be decoded
	FlowPlatform Flow = 1 // calls to the platform's internal origins
	firstOTP     Flow = 2
	firstUrgent  Flow = 1025
	FirstLab     Flow = 2048 // first ordinary flow; lower ones may use the reserved slots
	flowCount    Flow = 4096
)

// FlowSpan is the width of a flow's range of scores, FlowEpoch the time (ms since 1970) at which the range begins.
// Twelve bits for the flow and 41 for milliseconds fit exactly into a score without rounding, until 2089.
const (
	FlowSpan  int64 = 1 << 41
	FlowEpoch int64 = 1_577_836_800_000
)

// LabFlow returns the flow of a laboratory's ordinary jobs. If there are more than 2,048 laboratories (1,023 for
// reserved flows), some share a flow.
func LabFlow(lab int64) Flow { return FirstLab + flowOf(lab, flowCount-FirstLab) }

// OTPFlow returns the flow of a laboratory's one-time passwords.
func OTPFlow(lab int64) Flow { return firstOTP + flowOf(lab, firstUrgent-firstOTP) }

// UrgentFlow returns the flow of a laboratory's urgent notices: critical results, escalations and corrections.
func UrgentFlow(lab int64) Flow { return firstUrgent + flowOf(lab, FirstLab-firstUrgent) }

// LabFlows returns the three flows of a laboratory.
func LabFlows(lab int64) []Flow { return []Flow{LabFlow(lab), OTPFlow(lab), UrgentFlow(lab)} }

// IdentityFlow returns the flow used in the hash that identifies a request. The hash must be the same in all releases,
// and in early ones all reserved flows were for one-time passwords and none for urgent notices.
func IdentityFlow(f Flow, lab int64) Flow {
	switch f {
	case OTPFlow(lab):
		return firstOTP + flowOf(lab, FirstLab-firstOTP)
	case UrgentFlow(lab):
		return LabFlow(lab)
	}
	return f
}

func flowOf(lab int64, flows Flow) Flow { return Flow(uint64(lab) % uint64(flows)) }

// Reserved reports whether the flow may use capacity that is kept from ordinary flows: slots, and parts of quotas,
// lanes and rate limits.
func (f Flow) Reserved() bool { return f < FirstLab }

// Base returns the flow's base: the number to add to a due time in ms to get a score.
func (f Flow) Base() int64 { return int64(f)*FlowSpan - FlowEpoch }

// LatestDueMs is the latest due time that the engine stores, in 2039. A score has room for later ones.
const LatestDueMs = FlowSpan - 1

// DueOfScore returns the due time in a score of a lane.
func DueOfScore(score int64) int64 { return score - Flow(score/FlowSpan).Base() }

// FlowOf returns the flow of a stored job.
func FlowOf(raw []byte) Flow {
	b, err := DecodeBody(raw)
	if err != nil || b.Flow < 0 || b.Flow >= flowCount {
		return FlowUnknown
	}
	return b.Flow
}
