package callout

import (
	"encoding/json"
	"slices"
	"strconv"
	"time"
)

// Snapshot holds the values that a call communicated. It does not change when the values of the report change.
type Snapshot struct {
	TestID     int64       `json:"test_id"`
	TestName   string      `json:"test_name"`
	Parameters []Parameter `json:"critical_parameters"`
	// Corrected is set if the call stated that these values were wrong.
	Corrected bool `json:"corrected,omitempty"`
}

// Snapshots is the JSON of column critical_values_meta: snapshots by report id.
type Snapshots map[string]Snapshot

// ReportKey returns the key of a report in Snapshots.
func ReportKey(reportID int64) string { return strconv.FormatInt(reportID, 10) }

// ReadSnapshot returns the snapshot of a report from stored critical_values_meta. ok is false if there is none or the
// JSON is invalid.
func ReadSnapshot(meta []byte, reportID int64) (s Snapshot, ok bool) {
	var all Snapshots
	if json.Unmarshal(meta, &all) != nil {
		return s, false
	}
	s, ok = all[ReportKey(reportID)]
	return s, ok
}

// Meta is the JSON of column critical_callout_meta. callout_for holds test ids.
type Meta struct {
	CommunicationMethods []string `json:"communication_methods"`
	CalloutFor           []int64  `json:"callout_for"`
	ReadBack             *bool    `json:"read_back,omitempty"`
	NotifiedPerson       string   `json:"notified_person,omitempty"`
	NotifiedAt           string   `json:"notified_at,omitempty"`
	Outcome              Outcome  `json:"outcome,omitempty"`
	PerformedBy          string   `json:"performed_by,omitempty"`
	Forced               bool     `json:"forced,omitempty"`
	DetectedAt           string   `json:"detected_at,omitempty"`
	Corrected            bool     `json:"corrected,omitempty"`
}

// WasReadBack reports whether stored critical_callout_meta describes a call that was read back.
func WasReadBack(meta []byte) bool {
	var m Meta
	return json.Unmarshal(meta, &m) == nil && m.Heard()
}

// InformsOfCorrection reports whether stored critical_callout_meta describes a call about wrong values.
func InformsOfCorrection(meta []byte) bool {
	var m Meta
	return json.Unmarshal(meta, &m) == nil && m.Corrected
}

// Heard reports whether the person called read the result back.
func (m Meta) Heard() bool {
	if m.ReadBack != nil {
		return *m.ReadBack
	}
	return m.Outcome == Confirmed
}

// Outcome is how an attempt ended.
type Outcome string

// Outcomes of an attempt.
const (
	Confirmed     Outcome = "confirmed"
	NoReadBack    Outcome = "reached_no_readback"
	UnableToReach Outcome = "unable_to_reach"
	NotStated     Outcome = ""
	emptyJSON             = "{}"
)

// Known reports whether o is one of the documented outcomes.
func (o Outcome) Known() bool {
	return slices.Contains([]Outcome{Confirmed, NoReadBack, UnableToReach, NotStated}, o)
}

// Draft is the newest attempt stored for a bill. Its metas are JSON that another program may have written.
type Draft struct {
	Recipients  []string
	Comment     string
	ValuesMeta  []byte
	CalloutMeta []byte
	At          time.Time
}

// For returns the part of the draft about the visible reports; ok is false if there is none.
func (d Draft) For(v Visibility, visible []Report) (shown Draft, ok bool) {
	if v.Rule == Everything {
		return d, true
	}
	var meta struct {
		CalloutFor []int64 `json:"callout_for"`
	}
	_ = json.Unmarshal(d.CalloutMeta, &meta) // invalid JSON is treated as an empty list of tests
	tests, reports := map[int64]bool{}, map[string]bool{}
	for _, r := range visible {
		tests[r.Test.ID], reports[ReportKey(r.ID)] = true, true
	}
	seen := 0
	for _, test := range meta.CalloutFor {
		if tests[test] {
			seen++
		}
	}
	if seen == 0 {
		return Draft{}, false
	}
	if seen < len(meta.CalloutFor) {
		d.ValuesMeta = keep(d.ValuesMeta, reports)
	}
	return d, true
}

// Concerns reports whether the draft is about one of these reports, or its reports are unknown.
func (d Draft) Concerns(reports []Report) bool {
	var stated map[string]json.RawMessage
	if json.Unmarshal(d.ValuesMeta, &stated) != nil || len(stated) == 0 {
		return true
	}
	return slices.ContainsFunc(reports, func(r Report) bool { _, ok := stated[ReportKey(r.ID)]; return ok })
}

// Only returns critical_values_meta restricted to these reports.
func Only(values []byte, reports []Report) []byte {
	named := map[string]bool{}
	for i := range reports {
		named[ReportKey(reports[i].ID)] = true
	}
	return keep(values, named)
}

// keep returns a JSON object with only the named fields.
func keep(object []byte, named map[string]bool) []byte {
	var all map[string]json.RawMessage
	if json.Unmarshal(object, &all) != nil {
		return []byte(emptyJSON)
	}
	for key := range all {
		if !named[key] {
			delete(all, key)
		}
	}
	text, err := json.Marshal(all)
	if err != nil {
		return []byte(emptyJSON)
	}
	return text
}

// Object returns stored JSON if it is an object, otherwise an empty object.
func Object(stored []byte) []byte {
	var object map[string]json.RawMessage
	if len(stored) == 0 || json.Unmarshal(stored, &object) != nil || object == nil {
		return []byte(emptyJSON)
	}
	return stored
}

// Texts parses a stored JSON array of strings; any other value gives an empty list.
func Texts(stored []byte) []string {
	var list []string
	if json.Unmarshal(stored, &list) != nil || list == nil {
		return []string{}
	}
	return list
}
