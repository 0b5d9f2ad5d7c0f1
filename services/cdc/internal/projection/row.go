// Package projection computes the row of a patient in user_meta from the patient's rows in userDetails, billing and
// labReportRelation. It uses neither SQL nor the index.
package projection

// Row is a row of user_meta, with the column names as JSON names. Empty and absent lists are nil.
type Row struct {
	UserID       int64   `json:"user_id"`
	LabID        int64   `json:"lab_id"`         // 0 only in a stub, whose Rev is 0
	FormerLabIDs []int64 `json:"former_lab_ids"` // laboratories that the patient left, ascending

	BranchID *int64 `json:"branch_id"` // of the registration; access is decided by the lists below
	OrgID    *int64 `json:"org_id"`
	CCID     *int64 `json:"cc_id"`

	LabPatientID           string `json:"lab_patient_id"`
	FullName               string `json:"full_name"`
	Contact                string `json:"contact"`
	AlternateContact       string `json:"alternate_contact"`
	Email                  string `json:"email"`
	Gender                 string `json:"gender"`
	DateOfBirth            string `json:"date_of_birth"` // 2006-01-02, "" when unknown
	Age                    string `json:"age"`
	PassportNo             string `json:"passport_no"`
	NationalIdentityNumber string `json:"national_identity_number"`

	BillIDs         []int64  `json:"bill_ids"`
	LabBillIDs      []int64  `json:"lab_bill_ids"`
	OrderNumbers    []string `json:"order_numbers"`
	LabReportIDs    []int64  `json:"lab_report_ids"`
	SampleIDs       []string `json:"sample_ids"`
	ManualSampleIDs []string `json:"manual_sample_ids"`
	LrfIDs          []string `json:"lrf_ids"`
	OrgIDs          []int64  `json:"org_ids"`
	BranchIDs       []int64  `json:"branch_ids"`
	CCIDs           []int64  `json:"cc_ids"`
	RerunReportIDs  []int64  `json:"rerun_report_ids"` // reports with an open rerun

	LastBillTime *int64 `json:"last_bill_time"` // epoch milliseconds; nil without bills
	IsDeleted    bool   `json:"is_deleted"`
	Rev          int64  `json:"rev"`        // 0 in a stub, else at least microseconds since the epoch; see NextRev
	UpdatedAt    int64  `json:"updated_at"` // time of the write, epoch milliseconds
}
