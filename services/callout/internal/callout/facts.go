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
	// ValuesAt is when a value of the report last changed, or may have been removed; zero if unknown.
	ValuesAt time.Time
	Wait     *Episode // nil if the report does not wait
	LastWait *Episode // the newest wait, open or closed; nil if the report never waited
	Ledger   Ledger
	// Foreign are callouts of the report that other programs wrote and that are not in the ledger yet, the earliest first.
	Foreign []Foreign
	// Merged are previous patients of the report whose records were merged into the present one.
	Merged   []int64
	Settings Settings
	// Earlier are the patient's other results within the time of the repeat policy, the newest first; empty if the policy
	// is off.
	Earlier []Earlier
	// Unconfirmed are rerun values without confirmation; nil if there are none.
	Unconfirmed *RerunValues
}

// Foreign is a callout that another program wrote about a report.
type Foreign struct {
	ID         int64
	PatientID  int64 // 0: not stated
	Audience   Audience
	Parameters []Parameter
	Readable   bool // Parameters could be read from the stored JSON
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

// RerunValues are values of a rerun without confirmation.
type RerunValues struct {
	AsOf       int64 // epoch microseconds; grows with every change
	ReceivedAt time.Time
	Critical   []Parameter
}

// Event is the reason for a decision. The zero Event is a check by a loop or at a deadline.
type Event struct {
	// Named is set when a caller asks to evaluate this report now.
	Named bool
	// Call is a callout or an attempt to record.
	Call *NewCall
	// NoticesBack is set if notices can be sent again after a pause. Notices that the notification service stored
	// meanwhile are in the inboxes and are not sent again.
	NoticesBack bool
}

// NewCall describes a callout or an attempt to record.
type NewCall struct {
	Draft bool // the caller saves an attempt
	Force bool // allows another call of a report that was called, or whose values were withdrawn
	// Unheard is set if the settings make the call an attempt: it was spoken and not read back.
	Unheard  bool
	ReadBack bool
	// Reached is set if a person heard the values, read back or not.
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
	RefusedDone             // the report was called already
	RefusedNothing          // no value has to be called
	RefusedChanged          // the values differ from the stated ones, or changed after the call
	RefusedTooEarly         // the call was made before the result was known
)

// WaitChange is the change that a decision makes to the wait of a report.
type WaitChange int

// Changes of a wait.
const (
	WaitUnchanged WaitChange = iota
	WaitOpened
	WaitChanged
	WaitClosed
	WaitRenewed // the previous wait is closed and another one opened
)

// Decision holds the changes to write for one report, and facts about them for counters and logs.
type Decision struct {
	Report     Report
	Status     Status
	Refused    Refusal
	WaitChange WaitChange
	Wait       *Episode // the open wait after the decision; nil: none
	ClosedBy   string   // reason, for WaitClosed and WaitRenewed
	ClosedAt   time.Time
	Statements []Statement
	Messages   []Message
	Logs       []Log
	// Wake is set if the deadlines of the bill changed, so that its task queue job has to be rescheduled.
	Wake bool
	// Early is set if values changed less than the settle time (3 minutes) ago, so that the report has to be evaluated
	// again.
	Early bool
	// Recorded is the recorded call or attempt of the event; nil without one.
	Recorded *Statement
	Repeated bool     // Recorded is another call of a report that was called already
	Before   *Episode // the wait before the decision: the open one, else the last one
	// Said are the values that Recorded states. Corrected is set when it states that they were wrong.
	Said      []Parameter
	Corrected bool
	// NoticesBack is set if the mark of unsent notices has to be removed from the wait.
	NoticesBack bool
	// Suppressing is set while a call of the report is suppressed.
	Suppressing bool
	// Repeating is set where the laboratory has a repeat policy: other results of the patient may depend on this one.
	Repeating bool
	// Called is set if a call of the report was ever made: the policy may have suppressed calls of other results because
	// of it.
	Called  bool
	Counts  Counts
	Unclear []Parameter // values that became unclear in this decision
	// Unreadable are callouts of other programs whose values are not known.
	Unreadable []int64
	Escalated  int // the level of an escalation or reminder; 0: none was sent
	// LookedAt is the AsOf of rerun values that were judged after the escalation time; 0: none.
	LookedAt int64
}

// Changed reports whether the decision changes the worklist.
func (d *Decision) Changed() bool {
	return d.WaitChange != WaitUnchanged || len(d.Statements) > 0 || d.Status != d.Report.Status
}

// Counts are the numbers that decisions add to the metrics.
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
	Escalate                           // no one has called; to the laboratory
	Correct                            // a statement was wrong; to its audience
	Withdraw                           // stops a notice; its readers are informed unless Called is set
	TellUnclear                        // a value has been unclear for the escalation time; to the laboratory
	TellUnconfirmed                    // a critical rerun value waits for confirmation; to the laboratory
)

// Message is a message to another service.
type Message struct {
	Kind     MessageKind
	ReportID int64
	BillID   int64
	Key      string // the key of the statement that the message delivers, unique for the report
	Notice   string // for Withdraw: the key of the notice to stop
	Audience Audience
	Level    int
	// Called is for Withdraw: a clinician was informed, so the notice is not needed. Otherwise the notice was wrong, and
	// the audiences in Tell are informed if it was read.
	Called bool
	// Partly is set if other values of the notice are still true.
	Partly bool
	Tell   []Told
	// Quiet leaves out the laboratory's devices, because another message of the decision informs them.
	Quiet bool
}

// Told is an audience that gets a message of its own. With Quiet, that message leaves out the laboratory's devices.
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
	// Persons are the names of persons who heard the value. A person of the laboratory has to inform them.
	Persons []string `json:"notified_persons,omitempty"`
}

// FormerPatients returns the patients of the report's statements, except its present patient.
func (f *Facts) FormerPatients() (ids []int64) {
	for i := range f.Ledger {
		id := f.Ledger[i].PatientID
		if id != 0 && id != f.Report.PatientID && !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	return ids
}

// Grouped returns the messages of decisions. Overdue reports of one bill make one message, that of the highest level.
func Grouped(decisions []Decision) (messages []Message) {
	at := map[int64]int{} // index of the escalation by bill
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
