package callout

import (
	"slices"
	"time"

	"github.com/labplatform/labplatform/pkg/authn"
)

// Facts holds all inputs of a decision about one report.
type Facts struct {
	Report   Report
	Audience Audience // the organization and the doctor of the bill today
	Finding  Finding
	// ValuesAt is when a value of the report was last changed or possibly removed; zero if unknown.
	ValuesAt time.Time
	Wait     *Episode // nil if the report does not wait
	LastWait *Episode // the newest wait, open or closed; nil if the report never waited
	Ledger   Ledger
	// Foreign are callouts written by other programs that are not in the ledger yet, the earliest first.
	Foreign []Foreign
	// Merged are previous patients of the report whose records were merged into the present one.
	Merged   []int64
	Settings Settings
	// Earlier are the patient's other results within the time of the repeat policy, the newest first; empty if the policy
	// is off.
	Earlier []Earlier
	// Unconfirmed are unconfirmed rerun values; nil if there are none.
	Unconfirmed *RerunValues
}

// Foreign is a callout written by another program.
type Foreign struct {
	ID         int64
	PatientID  int64 // 0: unknown
	Audience   Audience
	Parameters []Parameter
	Readable   bool // the stored JSON could be parsed into Parameters
	Corrected  bool // the callout states that values were wrong
	ReadBack   bool
	CreatedAt  time.Time
}

// Earlier is an earlier result of the same patient.
type Earlier struct {
	ReportID int64
	Finding  Finding
	Ledger   Ledger
}

// RerunValues are unconfirmed values of a rerun.
type RerunValues struct {
	AsOf       int64 // epoch microseconds; grows with every change
	ReceivedAt time.Time
	Critical   []Parameter
}

// Event is the cause of a decision. The zero Event is a check by a loop or at a deadline.
type Event struct {
	// Named is set if a caller requests the evaluation of this report now.
	Named bool
	// Call is set if a callout, or a failed attempt at one, is to be recorded.
	Call *NewCall
	// NoticesBack is set if notices can be sent again after a pause. Notices that the notification service stored during
	// the pause are in the inboxes and are not sent again.
	NoticesBack bool
}

// NewCall describes a callout, or a failed attempt at one, that is to be recorded.
type NewCall struct {
	Draft bool // the caller requests an attempt
	Force bool // also accept a report that was already called or whose values were withdrawn
	// Unheard is set if the call counts as an attempt because it was spoken and not read back, and the settings require
	// read-back.
	Unheard  bool
	ReadBack bool
	// Reached is set if a person heard the values, whether or not they were read back.
	Reached bool
	Persons []string
	SaidAt  time.Time
	// Told are the stated values by format; nil means the present values.
	Told []ToldValue
}

// ToldValue is a critical value as stated in a call.
type ToldValue struct {
	FormatID int64
	RawValue string
}

// Refusal is the reason why a callout cannot be recorded.
type Refusal int

// Results of the check whether a callout can be recorded.
const (
	Accepted        Refusal = iota
	RefusedDone             // the report was already called
	RefusedNothing          // no value has to be called
	RefusedChanged          // the values differ from the stated ones, or changed after the call
	RefusedTooEarly         // the call was made before the result was known
)

// WaitChange is what a decision does with the wait of a report.
type WaitChange int

// Changes of a wait.
const (
	WaitUnchanged WaitChange = iota
	WaitOpened
	WaitChanged
	WaitClosed
	WaitRenewed // the previous wait is closed and a new one opened
)

// Decision holds the changes to write for one report, and the data for metrics and logs.
type Decision struct {
	Report     Report
	Status     Status
	Refused    Refusal
	WaitChange WaitChange
	Wait       *Episode // the open wait after the decision; nil if there is none
	ClosedBy   string   // reason, for WaitClosed and WaitRenewed
	ClosedAt   time.Time
	Statements []Statement
	Messages   []Message
	Logs       []Log
	// Wake is set if the deadlines of the bill changed and its task queue job has to be rescheduled.
	Wake bool
	// Early is set if values changed less than the settle time (3 minutes) ago. The report then has to be evaluated again.
	Early bool
	// Recorded is the recorded call or attempt; nil if the event has none.
	Recorded *Statement
	Repeated bool     // Recorded repeats the call of a report that was already called
	Before   *Episode // the wait before the decision: the open one, otherwise the last one
	// Said are the values stated in Recorded. Corrected is set if it states that they were wrong.
	Said      []Parameter
	Corrected bool
	// NoticesBack is set if the marks of unsent notices have to be removed.
	NoticesBack bool
	// Suppressing is set if a call of the report is suppressed.
	Suppressing bool
	// Repeating is set if the laboratory has a repeat policy. Suppressions of the patient's other results may then depend
	// on this one.
	Repeating bool
	// Called is set if the report was ever called. Calls of other results may have been suppressed because of it.
	Called  bool
	Counts  Counts
	Unclear []Parameter // values that became unclear in this decision
	// Unreadable are callouts of other programs whose values are unknown.
	Unreadable []int64
	Escalated  int // the level of the escalation or reminder; 0 if none was sent
	// LookedAt is the AsOf of rerun values judged after the escalation time; 0 if there are none.
	LookedAt int64
}

// Changed reports whether the decision changes the worklist.
func (d *Decision) Changed() bool {
	return d.WaitChange != WaitUnchanged || len(d.Statements) > 0 || d.Status != d.Report.Status
}

// Counts are the increments that decisions add to the metrics.
type Counts struct{ Critical, Suppressed, Corrected, Unclear, Exhausted int }

// Add adds the counts of another decision to c.
func (c *Counts) Add(o Counts) {
	c.Critical += o.Critical
	c.Suppressed += o.Suppressed
	c.Corrected += o.Corrected
	c.Unclear += o.Unclear
	c.Exhausted += o.Exhausted
}

// MessageKind is the kind of a message to another service.
type MessageKind int

// Kinds of messages, with their receivers.
const (
	Announce        MessageKind = iota // a critical result; to organization, doctor and laboratory
	Escalate                           // no one has called yet; to the laboratory
	Correct                            // a statement was wrong; to its audience
	Withdraw                           // stops a notice; recipients who read it are informed unless Called is set
	TellUnclear                        // a value has been unclear for the escalation time; to the laboratory
	TellUnconfirmed                    // a critical rerun value waits for confirmation; to the laboratory
)

// Message is a message to another service.
type Message struct {
	Kind     MessageKind
	ReportID int64
	BillID   int64
	Key      string // the key of the statement that the message delivers, unique for the report
	Notice   string // for Withdraw and its corrections: the key of the notice to stop
	Audience Audience
	Level    int
	// Called applies to Withdraw. If set, the notice is obsolete because a clinician was informed. Otherwise the notice
	// was wrong, and the audiences in Tell are informed if it was read.
	Called bool
	// Partly is set if other values in the notice are still true.
	Partly bool
	Tell   []Told
	// Quiet leaves out the laboratory's devices, because another message of the decision informs them.
	Quiet bool
}

// Told is an audience that gets its own message. If Quiet is set, the message leaves out the laboratory's devices.
type Told struct {
	Audience

	Quiet bool
}

// Log is an entry of the history. By is the caller of a call or an attempt, otherwise the platform.
type Log struct {
	Text string
	Meta any
	By   authn.Actor
}

// LogMeta is the meta of a history entry (category 648). The first three fields are documented for all entries.
type LogMeta struct {
	IsDraft     bool   `json:"is_draft"`
	Method      string `json:"method"`
	Recipients  string `json:"recipients"`
	Detected    bool   `json:"detected,omitempty"`
	Withdrawn   bool   `json:"withdrawn,omitempty"`
	Corrected   bool   `json:"corrected,omitempty"`
	Suppressed  bool   `json:"suppressed,omitempty"`
	WithinHours int    `json:"repeat_within_hours,omitempty"`
	Escalation  int    `json:"escalation,omitempty"`
	Reminder    bool   `json:"reminder,omitempty"`
	NotSent     bool   `json:"not_sent,omitempty"`
	Reason      string `json:"reason,omitempty"`
	// Persons are the names of persons who heard the value and whom the laboratory has to inform.
	Persons []string `json:"notified_persons,omitempty"`
}

// PreviousPatients returns the patients in the report's statements, except the present patient.
func (f *Facts) PreviousPatients() (ids []int64) {
	for i := range f.Ledger {
		id := f.Ledger[i].PatientID
		if id != 0 && id != f.Report.PatientID && !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	return ids
}

// CalledAbout reports whether a completed call about the report was about the patient.
func (f *Facts) CalledAbout(patientID int64) bool {
	return slices.ContainsFunc(f.Ledger, func(s Statement) bool { return s.Kind == Call && s.PatientID == patientID })
}

// Grouped returns the messages of decisions. Escalations of one bill are merged into one message with the highest
// level.
func Grouped(decisions []Decision) (messages []Message) {
	at := map[int64]int{} // index of the escalation of each bill
	for i := range decisions {
		for _, m := range decisions[i].Messages {
			first, known := at[m.BillID]
			switch {
			case m.Kind != Escalate:
			case !known:
				at[m.BillID] = len(messages)
			default:
				if m.Level > messages[first].Level {
					messages[first] = m
				}
				continue
			}
			messages = append(messages, m)
		}
	}
	return messages
}
