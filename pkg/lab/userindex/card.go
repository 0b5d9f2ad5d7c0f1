package userindex

import "reflect"

// MaxShown is the maximum length of each list of a card; the newest entries are kept.
const MaxShown = 100

// Card is the part of a patient that a search returns, as stored in the index.
type Card struct {
	UserID                 int64    `json:"user_id"`
	LabID                  int64    `json:"lab_id"`
	LabPatientID           string   `json:"lab_patient_id"`
	FullName               string   `json:"full_name"`
	Contact                string   `json:"contact"`
	AlternateContact       string   `json:"alternate_contact"`
	Email                  string   `json:"email"`
	Gender                 string   `json:"gender"`
	DateOfBirth            string   `json:"date_of_birth"`
	Age                    string   `json:"age"`
	PassportNo             string   `json:"passport_no"`
	NationalIdentityNumber string   `json:"national_identity_number"`
	BranchID               *int64   `json:"branch_id"`
	OrgID                  *int64   `json:"org_id"`
	CCID                   *int64   `json:"cc_id"`
	OrderNumbers           []string `json:"order_numbers"`
	BillIDs                []int64  `json:"bill_ids"`
	LabBillIDs             []int64  `json:"lab_bill_ids"`
	LabReportIDs           []int64  `json:"lab_report_ids"`
	SampleIDs              []string `json:"sample_ids"`
	ManualSampleIDs        []string `json:"manual_sample_ids"`
	LrfIDs                 []string `json:"lrf_ids"`
	LastBillTime           *int64   `json:"last_bill_time"`
	UpdatedAt              int64    `json:"updated_at"`
}

// CardFields lists the JSON names of the fields of Card, which are also fields of the document.
var CardFields = cardFields()

func cardFields() []string {
	var names []string
	for _, f := range reflect.VisibleFields(reflect.TypeFor[Card]()) {
		names = append(names, f.Tag.Get("json"))
	}
	return names
}
