package rebuild_test

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/labplatform/labplatform/pkg/clock"
	"github.com/labplatform/labplatform/services/cdc/internal/change"
	"github.com/labplatform/labplatform/services/cdc/internal/document"
	"github.com/labplatform/labplatform/services/cdc/internal/indexsync"
	"github.com/labplatform/labplatform/services/cdc/internal/phase"
	"github.com/labplatform/labplatform/services/cdc/internal/projection"
	"github.com/labplatform/labplatform/services/cdc/internal/store/enginetest"
)

// event returns the connector's record for a row of user_meta.
func event(op change.Op, r projection.Row) change.Record {
	deleted := 0
	if r.IsDeleted {
		deleted = 1
	}
	date := any(nil)
	if r.DateOfBirth != "" {
		date = r.DateOfBirth + "Z"
	}
	image := map[string]any{
		"user_id":                  r.UserID,
		"lab_id":                   r.LabID,
		"former_lab_ids":           column(r.FormerLabIDs),
		"branch_id":                r.BranchID,
		"org_id":                   r.OrgID,
		"cc_id":                    r.CCID,
		"lab_patient_id":           r.LabPatientID,
		"full_name":                r.FullName,
		"contact":                  r.Contact,
		"alternate_contact":        r.AlternateContact,
		"email":                    r.Email,
		"gender":                   r.Gender,
		"date_of_birth":            date,
		"age":                      r.Age,
		"passport_no":              r.PassportNo,
		"national_identity_number": r.NationalIdentityNumber,
		"bill_ids":                 column(r.BillIDs),
		"lab_bill_ids":             column(r.LabBillIDs),
		"order_numbers":            column(r.OrderNumbers),
		"lab_report_ids":           column(r.LabReportIDs),
		"sample_ids":               column(r.SampleIDs),
		"manual_sample_ids":        column(r.ManualSampleIDs),
		"lrf_ids":                  column(r.LrfIDs),
		"org_ids":                  column(r.OrgIDs),
		"branch_ids":               column(r.BranchIDs),
		"cc_ids":                   column(r.CCIDs),
		"rerun_report_ids":         column(r.RerunReportIDs),
		"last_bill_time":           r.LastBillTime,
		"is_deleted":               deleted,
		"rev":                      r.Rev,
		"updated_at":               r.UpdatedAt,
		"source_ts_ms":             0,
	}
	value := map[string]any{"op": op, "before": nil, "after": image}
	if op == change.Delete {
		value = map[string]any{"op": op, "before": image, "after": nil}
	}
	text, _ := json.Marshal(value) // maps of plain values can always be encoded
	return change.Record{Topic: "lab.lab.user_meta", Key: fmt.Appendf(nil, `{"user_id":%d}`, r.UserID), Value: text}
}

// column returns a list as the text of its JSON column.
func column[T any](list []T) any {
	if list == nil {
		return nil
	}
	text, _ := json.Marshal(list) // numbers and strings can always be encoded
	return string(text)
}

// running is a fake that always returns phase Running.
type running struct{}

func (running) Phase(context.Context) (phase.Phase, error)       { return phase.Running, nil }
func (running) Check(context.Context) (phase.Phase, bool, error) { return phase.Running, false, nil }

// syncer returns a sink like that of one process of the service.
func syncer(p *enginetest.Platform) *indexsync.Sink {
	return indexsync.NewSink(indexsync.Deps{
		Lookup:   p.Index,
		Writer:   p.Writer,
		Phases:   running{},
		Versions: document.RevVersions{},
		Clock:    clock.System{},
	})
}
