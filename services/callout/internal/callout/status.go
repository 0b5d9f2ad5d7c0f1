package callout

// Status is the status of a report for critical results, stored in labReportRelation.criticalValues.
type Status int

// Statuses, with the numbers that the database stores.
const (
	Normal    Status = 0
	Pending   Status = 1 // a critical value has to be called
	Done      Status = 2 // all critical values were communicated
	Abnormal  Status = 3
	Attempted Status = 4 // as Pending, after an attempt
)

var names = map[Status]string{
	Normal:    "NORMAL",
	Pending:   "CALLOUT_PENDING",
	Done:      "CALLOUT_DONE",
	Abnormal:  "ABNORMAL",
	Attempted: "CALLOUT_ATTEMPTED",
}

// String returns the status as the API names it. An unknown number counts as normal.
func (s Status) String() string {
	if name, ok := names[s]; ok {
		return name
	}
	return names[Normal]
}

// Open reports whether a critical value has to be called.
func (s Status) Open() bool { return s == Pending || s == Attempted }
