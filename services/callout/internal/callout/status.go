package callout

// Status is labReportRelation.criticalValues.
type Status int

// The states, as the database stores them.
const (
	Normal    Status = 0
	Pending   Status = 1 // a critical value that no one was told yet
	Done      Status = 2 // someone was told
	Abnormal  Status = 3
	Attempted Status = 4 // someone tried, and saved a draft
)

var names = map[Status]string{
	Normal:    "NORMAL",
	Pending:   "CALLOUT_PENDING",
	Done:      "CALLOUT_DONE",
	Abnormal:  "ABNORMAL",
	Attempted: "CALLOUT_ATTEMPTED",
}

// String is the name on the wire. A number that is none of ours counts as normal, as a new report does.
func (s Status) String() string {
	if name, ok := names[s]; ok {
		return name
	}
	return names[Normal]
}

// Open reports whether someone has still to be told.
func (s Status) Open() bool { return s == Pending || s == Attempted }
