package envelope_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/labplatform/labplatform/services/cdc/internal/envelope"
	"github.com/labplatform/labplatform/services/cdc/internal/projection"
)

const userMetaImage = `{"user_id":501,"lab_id":12,"former_lab_ids":"[3, 7]","branch_id":4,"org_id":null,"cc_id":null,
"lab_patient_id":"P-501","full_name":"Zo\u00EB \uD83D\uDE00","contact":"9876543210","alternate_contact":"","email":"z@x.in",
"gender":"Female","date_of_birth":"2024-02-29Z","age":"2 Y","passport_no":"","national_identity_number":"N1",
"bill_ids":"[9001,9002]","lab_bill_ids":"[301]","order_numbers":"[\"ORD-1\",\"\\u00e9\"]","lab_report_ids":"[7001]",
"sample_ids":"[\"S~1\"]","manual_sample_ids":"[]","lrf_ids":null,"org_ids":"[45]","branch_ids":"[4]","cc_ids":null,
"last_bill_time":1790000000123,"is_deleted":0,"rerun_report_ids":"[7001]","source_ts_ms":1790000000000,
"rev":1790000000123456,"updated_at":1790000000123}`

func ptr(n int64) *int64 { return &n }

func TestAnImageOfUserMetaIsRead(t *testing.T) {
	t.Parallel()
	want := projection.Row{
		UserID: 501, LabID: 12, FormerLabIDs: []int64{3, 7}, BranchID: ptr(4),
		LabPatientID: "P-501", FullName: "Zoë 😀", Contact: "9876543210", Email: "z@x.in", Gender: "Female",
		DateOfBirth: "2024-02-29", Age: "2 Y", NationalIdentityNumber: "N1",
		BillIDs: []int64{9001, 9002}, LabBillIDs: []int64{301}, OrderNumbers: []string{"ORD-1", "é"}, LabReportIDs: []int64{7001},
		SampleIDs: []string{"S~1"}, OrgIDs: []int64{45}, BranchIDs: []int64{4}, RerunReportIDs: []int64{7001},
		LastBillTime: ptr(1790000000123), Rev: 1790000000123456, UpdatedAt: 1790000000123,
	}
	got, err := envelope.UserMeta([]byte(userMetaImage))
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Fatal(err, diff)
	}
}

func TestAnImageFromBeforeTheSecondMigrationHasNoPerson(t *testing.T) {
	t.Parallel()
	got, err := envelope.UserMeta([]byte(`{"user_id":1,"lab_id":2,"bill_ids":"[5]","is_deleted":1,"rev":9,"updated_at":4}`))
	want := projection.Row{UserID: 1, LabID: 2, BillIDs: []int64{5}, IsDeleted: true, Rev: 9, UpdatedAt: 4}
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Fatal(err, diff)
	}
}

func TestAWrongColumnIsNamedWithoutItsValue(t *testing.T) {
	t.Parallel()
	for replaced, c := range map[string]struct{ with, want string }{
		`"user_id":501`:                 {`"user_id":null`, "user_id is missing"},
		`"lab_id":12`:                   {`"lab_id":"Asha"`, "column lab_id has the wrong type"},
		`"rev":1790000000123456`:        {`"rev":1.5`, "column rev has the wrong type"},
		`"bill_ids":"[9001,9002]"`:      {`"bill_ids":"[\"Asha\"]"`, "column bill_ids holds no list of the expected kind"},
		`"sample_ids":"[\"S~1\"]"`:      {`"sample_ids":["Asha"]`, "column sample_ids is no JSON column"},
		`"date_of_birth":"2024-02-29Z"`: {`"date_of_birth":"Asha"`, "column date_of_birth is no date"},
		`"full_name":"Zo\u00EB`:         {`"full_name":"Asha` + "\xff", "is not valid JSON"},
		`"contact":"9876543210"`:        {`"contact":9876543210`, "column contact has the wrong type"},
	} {
		t.Run(replaced, func(t *testing.T) {
			t.Parallel()
			_, err := envelope.UserMeta([]byte(strings.Replace(userMetaImage, replaced, c.with, 1)))
			var m *envelope.Malformed
			if !errors.As(err, &m) || !strings.Contains(err.Error(), c.want) {
				t.Fatalf("got %v, want %q", err, c.want)
			}
			if strings.Contains(err.Error(), "Asha") {
				t.Fatalf("the error quotes the row: %v", err)
			}
		})
	}
}
