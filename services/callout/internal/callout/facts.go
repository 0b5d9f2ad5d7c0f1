package callout

import (
	"slices"
	"time"

	"github.com/labplatform/labplatform/pkg/authn"
)

// Facts is everything that the rules need about one report.
type Facts struct {
	Report   Report
	Audience Audience // the organization and the doctor of the bill today
	Finding  Finding
	// ValuesAt is when a value of the report last changed, or may have been removed; zero when that is not known.
	ValuesAt time.Time
	Wait     *Episode // nil: it has none open
	LastWait *Episode // the newest wait, open or not; nil: it never waited
	Ledger   Ledger
	// Foreign are callouts of the report that other programs wrote and that are not in the ledger yet, the earliest first.
	Foreign []Foreign
	// Merged are previous patients of the report whose records were merged into the present one.
	Merged   []int64
	Settings Settings
	// Earlier are the patient's other results within the time of the repeat policy, the newest first; empty when it is
	// off.
	Earlier []Earlier
	// Unconfirmed are rerun values without confirmation; nil without any.
	Unconfirmed *RerunValues
}

// Foreign is a callout that another program wrote about a report.
type Foreign struct {
	ID         int64
	PatientID  int64 // 0: not stated
	Audience   Audience
	Parameters []Parameter
	Readable   bool // Parameters are known
	Corrected  bool // it informs of values that were wrong
	ReadBack   bool
	CreatedAt  time.Time
}

// Earlier is another result of the same patient.
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

// Event is what happens to a report. The zero Event is a check by a loop or at a deadline.
type Event struct {
	// Named is set when a caller asks to evaluate this report now.
	Named bool
	// Call is a callout or an attempt that was made.
	Call *NewCall
	// NoticesBack is set when notices can be sent again after a time in which they could not. Notices that were stored
	// meanwhile are in the inboxes, and are not sent again.
	NoticesBack bool
}

// NewCall is a callout or an attempt.
type NewCall struct {
	Draft bool // the caller saves an attempt
	Force bool // records another call of a report that was called, or whose values were withdrawn
	// Unheard is set when the settings make the call an attempt: it was spoken and not read back.
	Unheard  bool
	ReadBack bool
	// Reached is set when a person heard the values, read back or not.
	Reached bool
	Persons []string
	SaidAt  time.Time
	// Told are the values that were stated, by format; nil: the present ones.
	Told []ToldValue
}

// ToldValue is a critical value as it was stated in a call.
type ToldValue struct {
	FormatID int64
	RawValue string
}

// Refusal is the reason for which a callout cannot be recorded.
type Refusal int

// The refusals.
const (
	Accepted        Refusal = iota
	RefusedDone             // the callout is done already
	RefusedNothing          // no value has to be called
	RefusedChanged          // the values differ from the stated ones
	RefusedTooEarly         // the call was made before the result was known
)

// WaitChange is the change of the wait of a report.
type WaitChange int

// The changes.
const (
	WaitUnchanged WaitChange = iota
	WaitOpened
	WaitChanged
	WaitClosed
	WaitRenewed // the previous run is closed, another one begins
)

// Decision is what is to be written.
type Decision struct {
	Report     Report
	Status     Status
	Refused    Refusal
	WaitChange WaitChange
	Wait       *Episode // as it is afterwards; nil: none
	ClosedBy   string   // of WaitClosed and WaitRenewed
	ClosedAt   time.Time
	Statements []Statement
	Messages   []Message
	Logs       []Log
	// Wake is set when the deadlines of the bill changed.
	Wake bool
	// Early is set when values changed less than the settle time ago: the report has to be evaluated again.
	Early bool
	// Recorded is the call or attempt of the event; nil without one.
	Recorded *Statement
	Repeated bool     // Recorded is another call of a report that was called already
	Before   *Episode // the wait that was open, or the last one
	// Said are the values that Recorded states. Corrected is set when it states that they were wrong.
	Said      []Parameter
	Corrected bool
	// NoticesBack is set when the mark of unsent notices is to be removed from the wait.
	NoticesBack bool
	// Suppressing is set while a call of the report is suppressed.
	Suppressing bool
	// Repeating is set where the laboratory has a repeat policy: other results of the patient may depend on this one.
	Repeating bool
	// Called is set when a call of the report was ever made: the policy may have suppressed calls of other results for it.
	Called  bool
	Counts  Counts
	Unclear []Parameter // values that were found unclear now
	// Unreadable are callouts of other programs whose values are not known.
	Unreadable []int64
	Escalated  int // the level that was reached; 0: none
	// LookedAt is the AsOf of rerun values that were judged after the escalation time; 0: none.
	LookedAt int64
}

// Changed reports whether anything of the worklist changes.
func (d *Decision) Changed() bool {
	return d.WaitChange != WaitUnchanged || len(d.Statements) > 0 || d.Status != d.Report.Status
}

// Counts is what decisions found.
type Counts struct{ Critical, Suppressed, Corrected, Unclear, Exhausted int }

// Add adds the counts of another decision.
func (c *Counts) Add(o Counts) {
	c.Critical += o.Critical
	c.Suppressed += o.Suppressed
	c.Corrected += o.Corrected
	c.Unclear += o.Unclear
	c.Exhausted += o.Exhausted
}

// MessageKind is what a message to others is about.
type MessageKind int

// The kinds of messages.
const (
	Announce        MessageKind = iota // a critical result; to organization, doctor and laboratory
	Escalate                           // no one has called; to the laboratory
	Correct                            // a statement was wrong; to its audience
	Withdraw                           // stops a notice; its readers are informed unless Called
	TellUnclear                        // a value has been unclear for the escalation time; to the laboratory
	TellUnconfirmed                    // a critical rerun value waits for confirmation; to the laboratory
)

// Message is a message to another service.
type Message struct {
	Kind     MessageKind
	ReportID int64
	BillID   int64
	Key      string // the statement that the message delivers, unique for the report
	Notice   string // of a Withdraw: the notice
	Audience Audience
	Level    int
	// Called of a Withdraw: a clinician was informed. Otherwise the notice was wrong, and Tell are informed if it was
	// read.
	Called bool
	// Partly is set when other values of the notice are still true.
	Partly bool
	Tell   []Told
	// Quiet leaves the laboratory's devices out: another message of the decision tells them the same.
	Quiet bool
}

// Told is an audience that gets a message of its own. Quiet: that message leaves out the laboratory's devices.
type Told struct {
	Audience

	Quiet bool
}

// Log is an entry of the history. By is the caller of a call or an attempt, else the platform.
type Log struct {
	Text string
	Meta any
	By   authn.Actor
}

// LogMeta is the meta of an entry of category 648. The first three are documented for all entries.
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
	// Persons are the names of persons who heard the value and have to be informed by a person.
	Persons []string `json:"notified_persons,omitempty"`
}

// FormerPatients returns the patients of statements, except the present patient of the report.
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
	at := map[int64]int{} // the escalation of a bill
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
