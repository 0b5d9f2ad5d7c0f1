package callout

// Status is labReportRelation.criticalValues.
type Status int

// The states, as the database stores them.
const (
	Normal    Status = 0
	Pending   Status = 1 // a critical value has to be called
	Done      Status = 2 // everything critical was communicated
	Abnormal  Status = 3
	Attempted Status = 4 // as pending, after an attempt
)

var names = map[Status]string{
	Normal:    "NORMAL",
	Pending:   "CALLOUT_PENDING",
	Done:      "CALLOUT_DONE",
	Abnormal:  "ABNORMAL",
	Attempted: "CALLOUT_ATTEMPTED",
}

// String returns the name on the wire. An unknown number counts as normal.
func (s Status) String() string {
	if name, ok := names[s]; ok {
		return name
	}
	return names[Normal]
}

// Open reports whether a critical value has to be called.
func (s Status) Open() bool { return s == Pending || s == Attempted }
