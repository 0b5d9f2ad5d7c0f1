package projection

// Patient holds the columns of a userDetails row used by the projection. An empty FullName is composed of its parts.
type Patient struct {
	LabID    int64
	BranchID *int64
	OrgID    *int64
	CCID     *int64

	LabPatientID                                 string
	FullName                                     string
	Designation, FirstName, MiddleName, LastName string
	Contact                                      string
	AlternateContact                             string
	Email                                        string
	Gender                                       string
	DateOfBirth                                  string // 2006-01-02, "" when unknown
	Age                                          string
	PassportNo                                   string
	NationalIdentityNumber                       string
	IsDeleted                                    bool
}

// Bill holds the columns of a billing row used by the projection. Cancelled bills are included, because users may still
// search for the number on the printed bill.
type Bill struct {
	ID          int64
	LabID       int64
	LabBillID   int64
	OrderNumber string
	OrgID       *int64
	BranchID    *int64
	CCID        *int64
	Time        int64 // epoch milliseconds
}

// Report holds the columns of a labReportRelation row used by the projection. Dismissed reports are included, because
// the label on the tube must still lead to the patient.
type Report struct {
	ID             int64
	LabID          int64
	OrgID          *int64
	SampleID       string
	ManualSampleID string
	LrfID          string
	RerunOpen      bool // sampleRedrawFlag is 3 or 4
}

// Sources are all rows of one patient in all laboratories, in any order.
type Sources struct {
	Patient *Patient // nil if the row does not exist
	Bills   []Bill
	Reports []Report
}
