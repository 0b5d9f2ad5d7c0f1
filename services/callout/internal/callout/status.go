package callout

// Status is the critical-result status of a report, stored in labReportRelation.criticalValues.
type Status int

// Statuses, numbered as in the database.
const (
	Normal    Status = 0
	Pending   Status = 1 // a critical value has to be called
	Done      Status = 2 // all critical values were communicated
	Abnormal  Status = 3
	Attempted Status = 4 // like Pending, after an attempt
)

var names = map[Status]string{
	Normal:    "NORMAL",
	Pending:   "CALLOUT_PENDING",
	Done:      "CALLOUT_DONE",
	Abnormal:  "ABNORMAL",
	Attempted: "CALLOUT_ATTEMPTED",
}

// String returns the name of the status in the API. An unknown number is treated as normal.
func (s Status) String() string {
	if name, ok := names[s]; ok {
		return name
	}
	return names[Normal]
}

// Open reports whether a critical value has to be called.
func (s Status) Open() bool { return s == Pending || s == Attempted }
