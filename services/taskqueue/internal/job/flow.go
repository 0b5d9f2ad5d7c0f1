package job

// Flow is the unit of fairness: jobs of one flow wait in line, flows take turns. Each laboratory has a flow of ordinary
// jobs, one of one-time passwords and one of urgent notices; the platform's calls to itself have one. The flow is part
// of the score in the lane, so a lane stays one sorted set whose flows are found without a list of them.
type Flow int

// The kinds of flows.
const (
	FlowUnknown  Flow = 0 // jobs whose stored form cannot be read
	FlowPlatform Flow = 1 // calls to the platform's internal origins
	firstOTP     Flow = 2
	firstUrgent  Flow = 1025
	FirstLab     Flow = 2048 // from here on ordinary flows; the ones before may use the reserved slots
	flowCount    Flow = 4096
)

// FlowSpan is the width of a flow's part of the scores, and FlowEpoch the time (ms since 1970) at which it begins:
// twelve bits of flow and 41 of milliseconds are exactly what a score holds without rounding, until 2089.
const (
	FlowSpan  int64 = 1 << 41
	FlowEpoch int64 = 1_577_836_800_000
)

// LabFlow is the flow of a laboratory's ordinary jobs. More than 2,048 laboratories share flows with one another; for
// reserved flows the number is 1,023.
func LabFlow(lab int64) Flow { return FirstLab + flowOf(lab, flowCount-FirstLab) }

// OTPFlow is the flow of a laboratory's one-time passwords.
func OTPFlow(lab int64) Flow { return firstOTP + flowOf(lab, firstUrgent-firstOTP) }

// UrgentFlow is the flow of a laboratory's urgent notices: critical results, escalations and corrections.
func UrgentFlow(lab int64) Flow { return firstUrgent + flowOf(lab, FirstLab-firstUrgent) }

// LabFlows lists the flows of a laboratory.
func LabFlows(lab int64) []Flow { return []Flow{LabFlow(lab), OTPFlow(lab), UrgentFlow(lab)} }

// IdentityFlow is the flow as it stands in the hash that identifies a request, which is the same in every release:
// one-time passwords once had all reserved flows, and urgent notices none.
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

// Reserved reports whether the flow may use what is kept from ordinary flows: slots, parts of quotas, of lanes and of
// rates.
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
