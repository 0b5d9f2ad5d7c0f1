package envelope

import (
	"time"

	"github.com/go-json-experiment/json"

	"github.com/labplatform/labplatform/services/cdc/internal/projection"
)

// userMeta has the columns of user_meta by their names. Before the second migration the person's columns are
// absent, which reads as empty.
type userMeta struct {
	UserID       *int64  `json:"user_id"`
	LabID        *int64  `json:"lab_id"`
	FormerLabIDs numbers `json:"former_lab_ids"`
	BranchID     *int64  `json:"branch_id"`
	OrgID        *int64  `json:"org_id"`
	CCID         *int64  `json:"cc_id"`

	LabPatientID           string `json:"lab_patient_id"`
	FullName               string `json:"full_name"`
	Contact                string `json:"contact"`
	AlternateContact       string `json:"alternate_contact"`
	Email                  string `json:"email"`
	Gender                 string `json:"gender"`
	DateOfBirth            date   `json:"date_of_birth"`
	Age                    string `json:"age"`
	PassportNo             string `json:"passport_no"`
	NationalIdentityNumber string `json:"national_identity_number"`

	BillIDs         numbers `json:"bill_ids"`
	LabBillIDs      numbers `json:"lab_bill_ids"`
	OrderNumbers    texts   `json:"order_numbers"`
	LabReportIDs    numbers `json:"lab_report_ids"`
	SampleIDs       texts   `json:"sample_ids"`
	ManualSampleIDs texts   `json:"manual_sample_ids"`
	LrfIDs          texts   `json:"lrf_ids"`
	OrgIDs          numbers `json:"org_ids"`
	BranchIDs       numbers `json:"branch_ids"`
	CCIDs           numbers `json:"cc_ids"`
	RerunReportIDs  numbers `json:"rerun_report_ids"`

	LastBillTime *int64 `json:"last_bill_time"`
	IsDeleted    int64  `json:"is_deleted"`
	Rev          *int64 `json:"rev"`
	UpdatedAt    int64  `json:"updated_at"`
}

// UserMeta reads an image of user_meta. Unknown columns are passed over: a later migration may have added them.
// The error is a *Malformed.
func UserMeta(image []byte) (projection.Row, error) {
	var m userMeta
	if err := json.Unmarshal(image, &m); err != nil {
		return projection.Row{}, malformedColumn(err)
	}
	for column, id := range map[string]*int64{"user_id": m.UserID, "lab_id": m.LabID, "rev": m.Rev} {
		if id == nil {
			return projection.Row{}, &Malformed{Part: column, What: "is missing"}
		}
	}
	return m.row(), nil
}

func (m *userMeta) row() projection.Row {
	return projection.Row{
		UserID: *m.UserID, LabID: *m.LabID, FormerLabIDs: m.FormerLabIDs,
		BranchID: m.BranchID, OrgID: m.OrgID, CCID: m.CCID,
		LabPatientID: m.LabPatientID, FullName: m.FullName, Contact: m.Contact, AlternateContact: m.AlternateContact,
		Email: m.Email, Gender: m.Gender, DateOfBirth: string(m.DateOfBirth), Age: m.Age,
		PassportNo: m.PassportNo, NationalIdentityNumber: m.NationalIdentityNumber,
		BillIDs: m.BillIDs, LabBillIDs: m.LabBillIDs, OrderNumbers: m.OrderNumbers, LabReportIDs: m.LabReportIDs,
		SampleIDs: m.SampleIDs, ManualSampleIDs: m.ManualSampleIDs, LrfIDs: m.LrfIDs,
		OrgIDs: m.OrgIDs, BranchIDs: m.BranchIDs, CCIDs: m.CCIDs, RerunReportIDs: m.RerunReportIDs,
		LastBillTime: m.LastBillTime, IsDeleted: m.IsDeleted != 0, Rev: *m.Rev, UpdatedAt: m.UpdatedAt,
	}
}

// date is a DATE as the connector renders it, 2024-02-29Z, kept without the Z.
type date string

// UnmarshalJSON implements json.Unmarshaler.
func (d *date) UnmarshalJSON(b []byte) error {
	var s string
	if err := json.Unmarshal(b, &s); err != nil || s == "" { // null leaves s empty
		*d = ""
		return err
	}
	if n := len(s) - 1; s[n] == 'Z' {
		s = s[:n]
	}
	if _, err := time.Parse(time.DateOnly, s); err != nil {
		return errColumn("is no date")
	}
	*d = date(s)
	return nil
}
