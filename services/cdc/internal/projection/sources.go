package projection

// Patient is what the projection takes of a userDetails row. FullName is composed of the parts when it is empty.
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

// Bill is what the projection takes of a billing row. A cancelled bill counts as any other: its paper is still in
// someone's hand, and the search is how that person finds the patient.
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

// Report is what the projection takes of a labReportRelation row. A dismissed report counts as any other: its tube
// carries a label that must still lead to the patient.
type Report struct {
	ID             int64
	LabID          int64
	OrgID          *int64
	SampleID       string
	ManualSampleID string
	LrfID          string
	RerunOpen      bool // sampleRedrawFlag 3 or 4
}

// Sources are the rows of one patient, in any order, of any laboratory.
type Sources struct {
	Patient *Patient // nil when the row does not exist
	Bills   []Bill
	Reports []Report
}
