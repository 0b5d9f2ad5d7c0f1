// Package documenttest generates rows of user_meta for tests of documents.
package documenttest

import (
	"strings"
	"time"

	"pgregory.net/rapid"

	"github.com/labplatform/labplatform/services/cdc/internal/projection"
)

// Rows generates arbitrary rows that user_meta can hold, with short lists.
func Rows() *rapid.Generator[projection.Row] {
	return rapid.Custom(func(t *rapid.T) projection.Row {
		id := rapid.Int64()
		lab := rapid.Int64Range(1, 1<<31-1)
		words := rapid.SliceOfN(rapid.StringN(0, 40, -1), 0, 4)
		return projection.Row{
			UserID:       id.Draw(t, "user_id"),
			LabID:        lab.Draw(t, "lab_id"),
			FormerLabIDs: rapid.SliceOfN(lab, 0, 3).Draw(t, "former_lab_ids"),
			BranchID: rapid.Ptr(lab, true).
				Draw(t, "branch_id"),
			OrgID:                  rapid.Ptr(lab, true).Draw(t, "org_id"),
			CCID:                   rapid.Ptr(lab, true).Draw(t, "cc_id"),
			LabPatientID:           varchar(64).Draw(t, "lab_patient_id"),
			FullName:               varchar(400).Draw(t, "full_name"),
			Contact:                varchar(20).Draw(t, "contact"),
			AlternateContact:       varchar(20).Draw(t, "alternate_contact"),
			Email:                  varchar(254).Draw(t, "email"),
			Gender:                 varchar(16).Draw(t, "gender"),
			DateOfBirth:            dates().Draw(t, "date_of_birth"),
			Age:                    varchar(16).Draw(t, "age"),
			PassportNo:             varchar(64).Draw(t, "passport_no"),
			NationalIdentityNumber: varchar(64).Draw(t, "national_identity_number"),
			BillIDs:                rapid.SliceOfN(id, 0, 5).Draw(t, "bill_ids"),
			LabBillIDs:             rapid.SliceOfN(id, 0, 5).Draw(t, "lab_bill_ids"),
			OrderNumbers:           words.Draw(t, "order_numbers"),
			LabReportIDs:           rapid.SliceOfN(id, 0, 5).Draw(t, "lab_report_ids"),
			SampleIDs:              words.Draw(t, "sample_ids"),
			ManualSampleIDs:        words.Draw(t, "manual_sample_ids"),
			LrfIDs:                 words.Draw(t, "lrf_ids"),
			OrgIDs: rapid.SliceOfN(lab, 0, 3).
				Draw(t, "org_ids"),
			BranchIDs:      rapid.SliceOfN(lab, 0, 3).Draw(t, "branch_ids"),
			CCIDs:          rapid.SliceOfN(lab, 0, 3).Draw(t, "cc_ids"),
			RerunReportIDs: rapid.SliceOfN(id, 0, 3).Draw(t, "rerun_report_ids"),
			LastBillTime: rapid.Ptr(rapid.Int64Range(0, 1<<42), true).
				Draw(t, "last_bill_time"),
			IsDeleted: rapid.Bool().Draw(t, "is_deleted"),
			Rev:       rapid.Int64Range(1, 1<<52).Draw(t, "rev"),
			UpdatedAt: rapid.Int64Range(0, 1<<42).Draw(t, "updated_at"),
		}
	})
}

func varchar(runes int) *rapid.Generator[string] {
	return rapid.OneOf(rapid.StringN(0, runes, -1), rapid.Just(strings.Repeat("अ", runes)), rapid.Just(""))
}

func dates() *rapid.Generator[string] {
	return rapid.OneOf(rapid.Just(""), rapid.Map(rapid.IntRange(0, 3_650_000), func(days int) string {
		return time.Date(1, 1, 1+days, 0, 0, 0, 0, time.UTC).Format(time.DateOnly)
	}))
}
