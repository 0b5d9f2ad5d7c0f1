// Package projection owns the row of user_meta: what one patient looks like to the search, computed from the
// patient's rows in userDetails, billing and labReportRelation. It knows neither SQL nor the index.
package projection

// Row is one row of user_meta. Empty and absent lists are nil.
type Row struct {
	UserID       int64
	LabID        int64   // 0 only in a stub, whose Rev is 0
	FormerLabIDs []int64 // laboratories that the patient left, ascending

	BranchID *int64 // of the registration; scopes filter on the lists below
	OrgID    *int64
	CCID     *int64

	LabPatientID           string
	FullName               string
	Contact                string
	AlternateContact       string
	Email                  string
	Gender                 string
	DateOfBirth            string // 2006-01-02, "" when unknown
	Age                    string
	PassportNo             string
	NationalIdentityNumber string

	BillIDs         []int64
	LabBillIDs      []int64
	OrderNumbers    []string
	LabReportIDs    []int64
	SampleIDs       []string
	ManualSampleIDs []string
	LrfIDs          []string
	OrgIDs          []int64
	BranchIDs       []int64
	CCIDs           []int64
	RerunReportIDs  []int64 // reports with an open rerun

	LastBillTime *int64 // epoch milliseconds, nil without a bill
	IsDeleted    bool
	Rev          int64 // 0 in a stub, else microseconds since the epoch or more; the index versions are 2·Rev and 2·Rev+1
	UpdatedAt    int64 // epoch milliseconds of the write
}
